/* Takes the span of a new run from the page pool.  In lane secure (secure/run_plot.c) it lies behind a guard. */
#pragma once

#include "back/page_map.h"

/* Call with the page pool's lock held.  NULL: no memory. */
struct hz3_span *hz3_run_span_take(size_t granules);

/* In lane secure clears all objects that a run ever handed out: it goes with those that are live. */
void hz3_run_span_clear(const struct hz3_span *run);

/* Whether a span whose pages were moved away stays unmapped.  Call without the page pool's lock. */
bool hz3_moved_stays_hole(const struct hz3_span *from);
