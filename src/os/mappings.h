/* What the process has mapped, by the system's lists, and how much of it is in memory. */
#ifndef HZ3_OS_MAPPINGS_H
#define HZ3_OS_MAPPINGS_H

#include "base/types.h"

struct hz3_mapping {
    uintptr_t start, end;
    bool executable;
    size_t offset;   /* in the file */
    size_t resident; /* bytes */
    uint64_t path;   /* a hash of the file's path; 0: none */
    char name[256];  /* its last part, or the beginning of that */
    char whole[512]; /* all of it; "" if it is longer */
};
/* Calls visit(mapping, to) for each mapping, by address, until that returns false.  resident: fills that in, for which
 * the system looks at every page.  False: the list cannot be read, or the program has locked itself in. */
bool hz3_os_each_mapping(bool resident, bool (*visit)(const struct hz3_mapping *mapping, void *to), void *to);

/* Bytes of the pages of [at, at + bytes) that are in memory; none of a MiB or so that is not mapped as a whole.  Counts
 * pages that were only read, too.  Asks by mincore: to be called only where the program has not locked itself in. */
size_t hz3_os_resident(uintptr_t at, size_t bytes);

/* The file from which a piece of code was mapped. name: the file's name without its folder, with ? for bytes that are
 * not printable.  offset: how far `code` lies behind the file's first mapping, which is the address that symbolizers
 * take for a shared library or a position-independent program.  False: the list cannot be read, or the program has
 * locked itself in. */
bool hz3_os_module_of(const void *code, char *name, size_t size, size_t *offset);
#endif
