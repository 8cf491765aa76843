/* Holes: unmaps large clean spans, those that nobody took for a while or all.  A core dump by a debugger contains all
 * mapped memory, even what was purged, and page tables stay until memory is unmapped.  Memory that is taken again soon
 * is only purged, since unmapping stops the page faults of all threads, and mapping it again is one more call.
 *
 * Each hole splits a mapping, and a process may have 65,530 mappings by default.  So a hole is at least 2 MiB (1 MiB
 * where mappings count) and at least a 1024th of the heap.  Where the system allows no further one, 64 are mapped
 * again, since the program needs mappings, too.  Call without the page pool's lock.  Must not know why memory goes
 * back. */
#pragma once

#include "base/types.h"

/* Unmaps the clean spans that were filed at least `age` ms ago; 0: all, down to an 8192nd of the heap.  False: there
 * was none, or the system refused. */
bool hz3_holes_make(uint32_t age);
