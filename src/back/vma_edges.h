/* Edges: the addresses where mappings of moved pages begin and end.  Linux remembers where pages were mapped first, so
 * moved pages do not merge with the mapping beside them until the range is mapped anew; and the number of mappings of a
 * process is limited.  Call with the page pool's lock held, except hz3_vma_edges_none.  Addresses are multiples of the
 * granule. */
#pragma once

#include "base/types.h"

/* Half of the mappings that Linux allows by default.  It counts as full while there is room for the edges that other
 * threads may be adding; blocks are then copied instead of moved. */
enum { HZ3_VMA_EDGES_MAX = 32768, HZ3_VMA_EDGES_FULL = HZ3_VMA_EDGES_MAX - 1024 };
bool hz3_vma_edges_none(void);
bool hz3_vma_edges_full(void); /* also if there is no memory for the table; ask before the first move */

/* Records that the pages of [from, from + bytes) were moved to `to`, over what was there, and that their mapping now
 * ends at to + to_bytes.  The ranges do not overlap. */
void hz3_vma_edges_move(uintptr_t to, size_t to_bytes, uintptr_t from, size_t bytes);
/* Narrows a range to the part between its first and its last edge.  Returns whether mapping that part anew would leave
 * fewer edges. */
bool hz3_vma_edges_narrow(uintptr_t *start, size_t *bytes);
/* Whether moves have left the range as more than one mapping. */
bool hz3_vma_edges_inside(uintptr_t start, size_t bytes);
/* Call when a range was mapped anew or unmapped: forgets its edges. */
void hz3_vma_edges_drop(uintptr_t start, size_t bytes);
