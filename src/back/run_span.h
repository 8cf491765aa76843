/* Takes the span of a new run: from the page pool.  In lane secure it lies behind a guard (secure/run_plot.c). */
#ifndef HZ3_BACK_RUN_SPAN_H
#define HZ3_BACK_RUN_SPAN_H

#include "back/page_map.h"

/* NULL: no memory.  The caller holds the page pool's lock. */
struct hz3_span *hz3_run_span_take(size_t granules);

/* Whether the place whose pages were moved away is to stay unmapped.  The page pool's lock is not held. */
bool hz3_moved_stays_hole(const struct hz3_span *from);
#endif
