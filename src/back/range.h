/* Ranges of pages: purged, mapped again or mapped anew, with what was asked about huge pages and the edges of mappings
 * kept in step.  The page pool's lock is not held, unless the function says so; what the range is filed as is the
 * caller's. */
#ifndef HZ3_BACK_RANGE_H
#define HZ3_BACK_RANGE_H

#include "back/page_map.h"

/* Gives the pages back; false: the system refused. */
bool hz3_range_purge(uintptr_t start, size_t bytes);
/* The range was mapped anew, or is not mapped. */
void hz3_range_drop_edges(uintptr_t start, size_t bytes);
/* Whether a span that is not mapped could be mapped again: unless somebody else has the place now.  With or without
 * the lock. */
bool hz3_range_map_again(const struct hz3_span *span);
/* The same for a range without pages, whatever is there: as one with what lies beside it. */
bool hz3_range_map_anew(uintptr_t start, size_t bytes);
/* Makes what may still be mapped, or in part, ready for use: where it is as a whole, purging it does, and needs no room
 * for a mapping.  Says what it is now. */
enum hz3_span_kind hz3_range_renew(const struct hz3_span *span);
/* Whether a free range is to be a hole, since what is mapped counts: not a small one, since the system bounds how many
 * there are, nor one in a reservation, where anybody's mapping might come to lie. */
bool hz3_range_leaves_hole(const struct hz3_window *window, size_t granules);
#endif
