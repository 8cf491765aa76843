/* Takes free spans.  If none fits, maps more of a window.  Call with the page pool's lock held.  Must not know what a
 * span is for, beyond its kind. */
#pragma once

#include "back/page_map.h"

/* Cuts a span of `kind` out of a free span in that state; it starts at a multiple of `align` granules, a power of two.
 * NULL: none fits. */
struct hz3_span *hz3_take(enum hz3_span_kind state, size_t granules, size_t align, enum hz3_span_kind kind);
/* Takes a span in any state: dirty if there is one, then clean, then unmapped; if none fits, maps more.  NULL: the
 * system has no memory. */
struct hz3_span *hz3_take_any(size_t granules, size_t align, enum hz3_span_kind kind);

/* Maps a span that was cut from an unmapped one.  Returns it, or NULL if the system refused, and files it as unmapped
 * again.  NULL stays NULL. */
struct hz3_span *hz3_take_hole(struct hz3_span *span);

/* Maps at least `granules` that the window never used, as a free clean span.  Returns the first granule, or the reason
 * why not (back/arena). */
int64_t hz3_grow_window(struct hz3_window *window, size_t granules);
/* Does so in any window; opens a further one if need be.  False: the system has no memory. */
bool hz3_grow(size_t granules);
extern size_t hz3_grown; /* bytes of address space ever mapped for spans */
