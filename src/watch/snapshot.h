/* A snapshot of the process for `hz3 explain FILE` (look/snapshot.py), which says where the resident memory is when the
 * process has ended.  The file begins with five lines: "hz3 memory 1"; the process's number, the bytes of a page and
 * the ms of the monotonic clock; the program's name; its file; an empty line.  Records follow: what it is (below), an
 * address, how many bytes follow, each of 8 bytes as the machine has them; and these bytes. */
#pragma once

#include <stdbool.h>

enum hz3_snapshot {
    HZ3_SNAPSHOT_SMAPS = 1, /* a part of /proc/self/smaps */
    HZ3_SNAPSHOT_MEMORY,    /* memory from this address on: hz3's variables and tables */
    HZ3_SNAPSHOT_PAGES,     /* of what spans may take, a byte for each page from this address on: 1: it is in memory */
};

/* Writes it to the file.  Allocates nothing.  Other threads may run meanwhile; call outside the gate, since a fork
 * would wait for the disk.  False: it is not whole; errno may say why.  Only where the program may open files. */
bool hz3_snapshot_write(int file);
