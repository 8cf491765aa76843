/* Edges: the addresses where mappings of moved pages begin and end.  Linux remembers where pages were mapped first, so
 * moved pages never become one mapping with their neighbours until the range is mapped anew; and a process may have
 * only so many mappings.  Everything here is under the page pool's lock, but hz3_vma_edges_none.
 * Knows nothing but addresses, which are multiples of the granule. */
#ifndef HZ3_BACK_VMA_EDGES_H
#define HZ3_BACK_VMA_EDGES_H

#include "base/types.h"

/* Half of the mappings that Linux usually allows.  It counts as full while there is still room for what other threads
 * may be about to add; then the next block is copied and not moved. */
enum { HZ3_VMA_EDGES_MAX = 32768, HZ3_VMA_EDGES_FULL = HZ3_VMA_EDGES_MAX - 1024 };
bool hz3_vma_edges_none(void);
bool hz3_vma_edges_full(void); /* also where the system has no memory for them; to be asked before the first move */

/* The pages of [from, from + bytes) were moved to `to`, over what was there; the last mapping of them now ends at
 * to + to_bytes.  (The ranges do not overlap.) */
void hz3_vma_edges_move(uintptr_t to, size_t to_bytes, uintptr_t from, size_t bytes);
/* Narrows a range to the part between its first edge and its last.  True: there would be fewer edges if that part was
 * mapped anew. */
bool hz3_vma_edges_narrow(uintptr_t *start, size_t *bytes);
/* Whether the range is more than one mapping because of moves. */
bool hz3_vma_edges_inside(uintptr_t start, size_t bytes);
/* To be called when a range was mapped anew or unmapped. */
void hz3_vma_edges_drop(uintptr_t start, size_t bytes);
#endif
