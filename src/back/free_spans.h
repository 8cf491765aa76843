/* Free spans, in lists by size and by age, merged with neighbours of the same kind.  Call with the page pool's lock
 * held.  Keeps the pool's gauges.  Must not know why a span is free, or for how long. */
#pragma once

#include "back/page_map.h"
#include "os/lock.h"

extern struct hz3_lock hz3_pages_lock; /* the page pool's */

/* Makes a span of granules that are in no list, by writing their descriptors.  A new run has handed out no object: a
 * thread that looks at runs under the page pool's lock may find it before it has a class. */
struct hz3_span *hz3_spans_make(struct hz3_window *window, size_t first, size_t granules, enum hz3_span_kind kind);
/* Makes it of a descriptor in which all but the kind is written. */
void hz3_spans_make_last(struct hz3_span *span, enum hz3_span_kind kind);
/* Takes a span out of its lists, and clears its kind. */
void hz3_spans_unmake(struct hz3_span *span);

/* Files granules that belong to nobody as a free span, merged with its neighbours; `since`: when it became free (ms).
 * An unmapped one takes in the guard before it. */
struct hz3_span *hz3_spans_file(struct hz3_window *window, size_t first, size_t granules, enum hz3_span_kind kind,
                                uint32_t since);

/* Files a whole span, of any kind, as a free one. */
void hz3_spans_refile(struct hz3_span *span, enum hz3_span_kind kind, uint32_t since);

/* Cuts [first, first + granules) out of a free span and files the rest again. */
struct hz3_span *hz3_spans_cut(struct hz3_span *span, size_t first, size_t granules, enum hz3_span_kind kind);

/* Returns a free span of the kind that has room for `granules` from a multiple of `align` on (granules, a power of
 * two); of those that fit nearly the smallest.  Or NULL. */
struct hz3_span *hz3_spans_find(enum hz3_span_kind kind, size_t granules, size_t align);
/* Returns the first free span of the kind with exactly `granules` (1 to 63), or NULL. The others follow by `next`. */
struct hz3_span *hz3_spans_of_size(enum hz3_span_kind kind, size_t granules);
/* Returns a free span of the kind with at least `granules` that was filed at least `age` ms ago and is not in a
 * reservation; or NULL. */
struct hz3_span *hz3_spans_idle(enum hz3_span_kind kind, size_t granules, uint32_t age, uint32_t now);
/* The address of the first multiple of `align` granules in a span. */
HZ3_INLINE uintptr_t hz3_spans_aligned_start(const struct hz3_span *span, size_t align)
{
    return hz3_round_up(span->start, align << HZ3_GRANULE_SHIFT);
}

/* The number of free spans of the kind.  Walks over all of them. */
size_t hz3_spans_count(enum hz3_span_kind kind);

/* Returns the free span of this kind that ends or starts at a granule, or NULL. */
struct hz3_span *hz3_spans_neighbour(struct hz3_window *window, size_t granule, enum hz3_span_kind kind);
/* Returns the dirty span that was filed or merged longest ago, or NULL. */
struct hz3_span *hz3_spans_oldest(void);
