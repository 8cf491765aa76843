#include "back/run_span.h"

#include "back/free_spans.h"
#include "back/gauges.h"
#include "back/grow.h"
#include "back/huge_pages.h"
#include "back/limits.h"
#include "back/range.h"

enum {
    OPEN_SHARE = 8, /* no more reserves if more than this share of small objects' runs is not in use yet */
};

static struct hz3_window *window_of(const struct hz3_span *span)
{
    return hz3_window_of((void *)span->start);
}

/* Whether a further huge page would soon be in use as a whole.  That is assumed if it, the other reserves and the runs
 * of small objects that are not in use to their end make up at most an eighth of all runs of small objects. */
static bool is_dense(size_t granules)
{
    size_t open = hz3_gauge(HZ3_GAUGE_GROWING) + hz3_gauge(HZ3_GAUGE_RESERVED) + (granules << HZ3_GRANULE_SHIFT);
    return open <= hz3_gauge(HZ3_GAUGE_SMALL) / OPEN_SHARE;
}

/* Takes a granule of the reserve; the reserve is NULL after its last. */
static struct hz3_span *take_from_reserve(struct hz3_span **reserve)
{
    struct hz3_window *window = window_of(*reserve);
    size_t first = hz3_first_granule(window, *reserve), granules = (*reserve)->granules;
    hz3_spans_unmake(*reserve);
    *reserve = granules > 1 ? hz3_spans_make(window, first + 1, granules - 1, HZ3_SPAN_RESERVE) : NULL;
    return hz3_spans_make(window, first, 1, HZ3_SPAN_RUN);
}

static struct hz3_span *take_reserve(size_t granules)
{
    struct hz3_span *span = hz3_take_any(granules, granules, HZ3_SPAN_RESERVE);
    if (span && span->zeroed && !hz3_huge_pages_are_broken(window_of(span), span->start) && !hz3_get(span->asked))
        hz3_huge_pages_ask(span->start, span->start + hz3_span_bytes(span));
    return span;
}

/* A dirty span is better than a new reserve, since it costs no page fault. */
struct hz3_span *hz3_run_span_take(size_t granules, struct hz3_span **reserve)
{
    if (granules > 1) return hz3_take_any(granules, 1, HZ3_SPAN_RUN);
    size_t huge_page = hz3_get(hz3_os.huge_page_asked) >> HZ3_GRANULE_SHIFT;
    bool wanted = huge_page > 1 && !hz3_get(hz3_pages_are_locked) && !hz3_pages_above_limit();
    if (!*reserve && wanted && is_dense(huge_page) && !hz3_spans_find(HZ3_SPAN_DIRTY, 1, 1))
        *reserve = take_reserve(huge_page);
    return *reserve ? take_from_reserve(reserve) : hz3_take_any(1, 1, HZ3_SPAN_RUN);
}

bool hz3_moved_stays_hole(const struct hz3_span *from)
{
    struct hz3_window *window = hz3_window_of((void *)from->start);
    return hz3_get(hz3_pages_are_locked) ||
           hz3_range_leaves_hole(window, hz3_first_granule(window, from), from->granules);
}
