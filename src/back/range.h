/* Purges ranges of pages, and maps them again or anew.  Repeats the advice about huge pages, and keeps the edges of
 * mappings in step.  The page pool's lock is not held, unless the function says so; the caller files the range. */
#ifndef HZ3_BACK_RANGE_H
#define HZ3_BACK_RANGE_H

#include "back/page_map.h"

/* Gives the pages back; false: the system refused. */
bool hz3_range_purge(uintptr_t start, size_t bytes);
/* Gives back the pages of a table that lie in the range as a whole.  If the system refuses they stay. */
void hz3_range_purge_whole_pages(uintptr_t from, uintptr_t to);
/* Unmaps a range; false: the system refused. */
bool hz3_range_unmap(uintptr_t start, size_t bytes);
/* To be called when a range was mapped anew or unmapped. */
void hz3_range_drop_edges(uintptr_t start, size_t bytes);
/* Maps a span that is not mapped.  False: the system refused, or somebody else has the place now.  With or without the
 * lock. */
bool hz3_range_map_again(const struct hz3_span *span);
/* Replaces the mappings of a range that holds no data by a new one, which can merge with its neighbours. */
bool hz3_range_map_anew(uintptr_t start, size_t bytes);
/* Makes a span usable that is mapped, or was in part or whole unmapped.  If it is still mapped as a whole, purging it
 * is enough, and needs no further mapping.  Returns the kind that it now is. */
enum hz3_span_kind hz3_range_renew(const struct hz3_span *span);
/* Whether a free range is to be unmapped.  Yes beside a guard or a hole, which it then joins.  Yes where mappings
 * count, unless it is small, since the system bounds the number of mappings, too.  Never in a reservation, since
 * anybody's mapping might come to lie there. */
bool hz3_range_leaves_hole(struct hz3_window *window, size_t first, size_t granules);
#endif
