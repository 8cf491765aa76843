/* What the process has mapped, by the system's lists, and how much of it is in memory. */
#pragma once

#include "base/types.h"

struct hz3_mapping {
    uintptr_t start, end;
    bool readable, writable, executable;
    size_t offset;   /* in the file */
    uint64_t path;   /* a hash of the file's path; 0: none */
    char name[256];  /* its last part, or the beginning of that */
    char whole[512]; /* all of it; "" if it is longer */
};
/* Calls visit(mapping, to) for each mapping, by address, until that returns false.  False: the list cannot be read, or
 * the program has locked itself in. */
bool hz3_os_each_mapping(bool (*visit)(const struct hz3_mapping *mapping, void *to), void *to);

/* Sets pages[i] to 1 if the i-th of `count` pages from `at` on is in memory, else to 0; to 0 for all if one is not
 * mapped.  A page that was only read counts, too.  Only where the program has not locked itself in. */
void hz3_os_in_memory(uintptr_t at, size_t count, unsigned char *pages);

/* The file from which a piece of code was mapped. name: the file's name without its folder, with ? for bytes that are
 * not printable.  offset: how far `code` lies behind the file's first mapping, which is the address that symbolizers
 * take for a shared library or a position-independent program.  False: the list cannot be read, or the program has
 * locked itself in. */
bool hz3_os_module_of(const void *code, char *name, size_t size, size_t *offset);
