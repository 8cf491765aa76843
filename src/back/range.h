/* Purges, unmaps and maps ranges of pages, repeats the advice about huge pages for them, and keeps the edge table up to
 * date.  Call without the page pool's lock, unless the function says otherwise.  The caller files the range. */
#pragma once

#include "back/page_map.h"

/* Purges the range.  False: the system refused. */
bool hz3_range_purge(uintptr_t start, size_t bytes);
/* Purges the pages of a table that lie wholly in the range.  If the system refuses, they stay. */
void hz3_range_purge_whole_pages(uintptr_t from, uintptr_t to);
/* Unmaps a range; false: the system refused. */
bool hz3_range_unmap(uintptr_t start, size_t bytes);
/* Call when a range was mapped anew or unmapped: forgets its edges. */
void hz3_range_drop_edges(uintptr_t start, size_t bytes);
/* Maps an unmapped span, with or without the lock.  False: the system refused, or something else is mapped there. */
bool hz3_range_map_again(const struct hz3_span *span);
/* Replaces the mappings of a range without data by a new one, which can merge with its neighbours.  False: the system
 * refused. */
bool hz3_range_map_anew(uintptr_t start, size_t bytes);
/* Makes a span usable that may be unmapped in part or as a whole: purges it if it is mapped, which needs no further
 * mapping, else maps it anew.  If the system refuses both, unmaps what is left, but in a reservation.  Returns the kind
 * that it now has. */
enum hz3_span_kind hz3_range_renew(const struct hz3_span *span);
/* Whether a further hole leaves the program enough of the mappings that the system allows. */
bool hz3_range_holes_are_few(void);
/* Whether a free range may be unmapped: there are few holes, or it joins one.  False in a reservation, where anybody's
 * mapping might come to lie in the gap. */
bool hz3_range_may_leave_hole(struct hz3_window *window, size_t first, size_t granules);
/* Whether to unmap a free range instead of purging it.  True, where there are guards, beside a guard or a hole, which
 * it then joins; true if mappings count, except for small ranges, and while holes are few.  False in a reservation. */
bool hz3_range_leaves_hole(struct hz3_window *window, size_t first, size_t granules);
