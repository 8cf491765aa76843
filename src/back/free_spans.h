/* Free spans, in lists by size and by age, merged with neighbours of their kind.  Everything here is under the page
 * pool's lock, and keeps its gauges.  Talks to the map; must not know why a span is free, or for how long. */
#ifndef HZ3_BACK_FREE_SPANS_H
#define HZ3_BACK_FREE_SPANS_H

#include "back/page_map.h"
#include "os/lock.h"

extern struct hz3_lock hz3_pages_lock; /* the page pool's */

/* Makes a span of any kind of granules that are in no list, by writing their descriptors.  A run
 * has handed out no object: who looks at runs under the page pool's lock may find it before it has a class. */
struct hz3_span *hz3_spans_make(struct hz3_window *window, size_t first, size_t granules, enum hz3_span_kind kind);
/* The same if all but the kind is written already. */
void hz3_spans_make_last(struct hz3_span *span, enum hz3_span_kind kind);
/* Takes a span out of its lists, and clears its kind. */
void hz3_spans_unmake(struct hz3_span *span);

/* Files granules that belong to nobody as a free span, free since `since` (ms), merged with its neighbours.  Unmapped
 * ones take in the guard before them. */
struct hz3_span *hz3_spans_file(struct hz3_window *window, size_t first, size_t granules, enum hz3_span_kind kind,
                                uint32_t since);

/* Files a whole span, of any kind, as a free one. */
void hz3_spans_refile(struct hz3_span *span, enum hz3_span_kind kind, uint32_t since);

/* Cuts [first, first + granules) out of a free span and files the rest again. */
struct hz3_span *hz3_spans_cut(struct hz3_span *span, size_t first, size_t granules, enum hz3_span_kind kind);

/* A free span of the kind, close to the smallest, that has room for so many granules from a multiple of align on
 * (granules, a power of two); or NULL. */
struct hz3_span *hz3_spans_find(enum hz3_span_kind kind, size_t granules, size_t align);
/* The first free span of the kind with exactly so many granules, up to 63, or NULL.  The others follow by `next`. */
struct hz3_span *hz3_spans_of_size(enum hz3_span_kind kind, size_t granules);
/* A free span of the kind with so many granules or more that was filed `age` ms ago or earlier, and is not in a
 * reservation; or NULL. */
struct hz3_span *hz3_spans_idle(enum hz3_span_kind kind, size_t granules, uint32_t age, uint32_t now);
/* The first such multiple in a span. */
HZ3_INLINE uintptr_t hz3_spans_aligned_start(const struct hz3_span *span, size_t align)
{
    return hz3_round_up(span->start, align << HZ3_GRANULE_SHIFT);
}

/* How many free spans of the kind there are.  Looks at each. */
size_t hz3_spans_count(enum hz3_span_kind kind);

/* The free span of this kind that ends or starts right at a granule, or NULL. */
struct hz3_span *hz3_spans_neighbour(struct hz3_window *window, size_t granule, enum hz3_span_kind kind);
/* The dirty span that was filed, or merged, longest ago; or NULL. */
struct hz3_span *hz3_spans_oldest(void);
#endif
