/* Accounts for every byte that hz3 has from the system, by its runs, spans and tables, and by the kernel's figure.  No
 * other thread may be inside hz3 meanwhile. */
#ifndef HZ3_TEST_AUDIT_H
#define HZ3_TEST_AUDIT_H

#include <stddef.h>

/* Bytes. */
struct audit {
    size_t out;       /* objects out of runs: live, in caches, in flight, in transfer, or in central's magazines */
    size_t large;     /* the usable bytes of live large blocks */
    size_t central;   /* objects that are free in their runs */
    size_t uncarved;  /* never handed out: in runs and at their ends, in free spans, and unused in large blocks */
    size_t metadata;  /* tables and magazines */
    size_t committed; /* mapped and writable by the kernel's figure, where hz3 may map */
};
struct audit audit(void);
#endif
