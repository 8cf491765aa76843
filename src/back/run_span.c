#include "back/run_span.h"

#include "back/grow.h"
#include "back/limits.h"
#include "back/range.h"

struct hz3_span *hz3_run_span_take(size_t granules)
{
    return hz3_take_any(granules, 1, HZ3_SPAN_RUN);
}

void hz3_run_span_clear(const struct hz3_span *run)
{
    (void)run;
}

bool hz3_moved_stays_hole(const struct hz3_span *from)
{
    struct hz3_window *window = hz3_window_of((void *)from->start);
    return (hz3_get(hz3_pages_are_locked) && hz3_range_holes_are_few()) ||
           hz3_range_leaves_hole(window, hz3_first_granule(window, from), from->granules);
}
