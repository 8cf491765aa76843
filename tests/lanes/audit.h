/* Where every byte is that hz3 has from the system, as far as its runs, spans and tables say, and what the system says
 * that it gave.  Only where no other thread is inside hz3. */
#ifndef HZ3_TEST_AUDIT_H
#define HZ3_TEST_AUDIT_H

#include <stddef.h>

/* Bytes. */
struct audit {
    size_t out;       /* of runs: with the program, in caches, in flight, in transfer and in central's magazines */
    size_t large;     /* of large blocks that are live, as far as they may be used */
    size_t central;   /* of runs: free again */
    size_t uncarved;  /* never handed out: of runs, their tails too; of spans; and what large blocks leave unused */
    size_t metadata;  /* tables and magazines */
    size_t committed; /* what the kernel says is mapped, and writable, where hz3 may map */
};
struct audit audit(void);
#endif
