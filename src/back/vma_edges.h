/* Edges: the addresses where mappings of pages that were moved begin and end.  Linux remembers of pages where they came
 * from, so these never again become one mapping with what lies beside them, until the range is mapped anew; and it
 * bounds how many mappings a process has.  Everything here is under the page pool's lock, but for the two questions
 * without an address.  Knows addresses alone: multiples of the granule. */
#ifndef HZ3_BACK_VMA_EDGES_H
#define HZ3_BACK_VMA_EDGES_H

#include "base/types.h"

/* Half of the mappings that Linux usually allows.  Full is what has no room for all that threads may be about to add:
 * then the next block is copied and not moved. */
enum { HZ3_VMA_EDGES_MAX = 32768, HZ3_VMA_EDGES_FULL = HZ3_VMA_EDGES_MAX - 1024 };
bool hz3_vma_edges_none(void);
bool hz3_vma_edges_full(void);

/* The pages of [from, from + bytes) are at `to` now, in place of what was there, and their last mapping goes on to
 * to + to_bytes.  (The ranges do not overlap.) */
void hz3_vma_edges_move(uintptr_t to, size_t to_bytes, uintptr_t from, size_t bytes);
/* Narrows a range to what lies between its first edge and its last.  Whether there would be fewer edges if that was
 * mapped anew. */
bool hz3_vma_edges_narrow(uintptr_t *start, size_t *bytes);
/* Whether the range is more than one mapping because of moves. */
bool hz3_vma_edges_inside(uintptr_t start, size_t bytes);
/* The range was mapped anew, or is not mapped. */
void hz3_vma_edges_drop(uintptr_t start, size_t bytes);
#endif
