/* Takes spans out of the free ones.  If none fits, the mapped part of a window grows.  The caller holds the page pool's
 * lock.  Must not know what a span is for, beyond its kind. */
#ifndef HZ3_BACK_GROW_H
#define HZ3_BACK_GROW_H

#include "back/page_map.h"

/* A part of a free span becomes a span of `kind`; it starts on a multiple of `align` granules, a power of two.  Takes
 * only from spans in that state; NULL: none fits. */
struct hz3_span *hz3_take(enum hz3_span_kind state, size_t granules, size_t align, enum hz3_span_kind kind);
/* The same from any state: from dirty spans first, from spans that have to be mapped last. */
struct hz3_span *hz3_take_any(size_t granules, size_t align, enum hz3_span_kind kind);

/* Maps a span again that was taken from unmapped ones; NULL stays NULL.  If there is no memory it is filed again, and
 * this returns NULL. */
struct hz3_span *hz3_take_hole(struct hz3_span *span);

/* Maps so many granules or more that the window never used, as a free clean span.  Returns the first one, or the reason
 * why not (back/arena). */
int64_t hz3_grow_window(struct hz3_window *window, size_t granules);
/* The same in any window. */
bool hz3_grow(size_t granules);
extern size_t hz3_grown; /* bytes of address space ever taken */
#endif
