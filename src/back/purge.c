#include "back/purge.h"

#include "back/free_spans.h"
#include "back/gauges.h"
#include "back/holes.h"
#include "back/huge_pages.h"
#include "back/limits.h"
#include "back/range.h"
#include "back/rent.h"
#include "back/states.h"
#include "back/vma_edges.h"

enum {
    CUT_MIN = 32,   /* granules; the least that is cut off a long span to be purged */
    WAIT_MS = 1000, /* for another thread's purge, which may be gone: in a child not made by fork */
};

HZ3_ATOMIC(uint32_t) hz3_pages_being_purged, hz3_pages_refused_at;
static _Thread_local bool purging_here; /* this thread is purging one of them */
static bool awaited;                    /* somebody waits for the end of one; under that lock */
static HZ3_ATOMIC(uint32_t) ended;      /* how many ended that were awaited */
static HZ3_ATOMIC(size_t) acted_on;     /* the part of hz3_os_broken that hz3_pages_stay_broken has acted on */

/* Gives back the pages of tables that describe nothing but granules [first, end), which are free: of state bytes, all
 * 0, and of bitmaps, which the next runs there clear. */
static void purge_tables(const struct hz3_window *window, size_t first, size_t end)
{
    hz3_states_purge(window, first, end);
    hz3_range_purge_whole_pages((uintptr_t)window->free[first], (uintptr_t)window->free[end]);
}

/* Gives back the pages of a range that is in no list, and of its tables.  Returns the kind that the range now is.
 * Locked pages are unmapped, since they do not go otherwise; so are pages where mappings count.  But not where that
 * would leave too many holes. */
static enum hz3_span_kind purge_range(struct hz3_window *window, size_t first, size_t granules)
{
    uintptr_t start = window->base + (first << HZ3_GRANULE_SHIFT);
    size_t bytes = granules << HZ3_GRANULE_SHIFT;
    bool unmapped = hz3_range_leaves_hole(window, first, granules) && hz3_range_unmap(start, bytes);
    bool purged = unmapped || hz3_range_purge(start, bytes);
    if (!purged) unmapped = hz3_range_may_leave_hole(window, first, granules) && hz3_range_unmap(start, bytes);
    if (!purged && !unmapped) {
        hz3_set(hz3_pages_refused_at, hz3_max((uint32_t)hz3_os_now_ms(), 1u));
        return HZ3_SPAN_DIRTY;
    }
    purge_tables(window, first, first + granules);
    return unmapped ? HZ3_SPAN_UNMAPPED : HZ3_SPAN_CLEAN;
}

void hz3_pages_begin_purge(struct hz3_span *span)
{
    struct hz3_window *window = hz3_window_of((void *)span->start);
    size_t first = hz3_first_granule(window, span), granules = span->granules;
    hz3_spans_unmake(span);
    hz3_spans_make(window, first, granules, HZ3_SPAN_PURGING);
    purging_here = true;
    hz3_add(hz3_pages_being_purged, 1);
}

void hz3_pages_end_purge(void)
{
    hz3_sub(hz3_pages_being_purged, 1);
    purging_here = false;
    if (likely(!awaited)) return;
    awaited = false;
    hz3_add(ended, 1);
    hz3_os_wake(&ended);
}

void hz3_pages_await_purge(void)
{
    hz3_lock(&hz3_pages_lock);
    uint32_t before = hz3_get(ended);
    bool some = awaited = hz3_get(hz3_pages_being_purged);
    hz3_unlock(&hz3_pages_lock);
    uint64_t now = hz3_os_now_ms(), until = now + WAIT_MS;
    for (; some && hz3_get(ended) == before && now < until; now = hz3_os_now_ms()) /* a signal ends a wait early */
        hz3_os_wait(&ended, before, (uint32_t)(until - now));
}

/* Takes out of the lists the part of a clean span that is to be mapped anew, if that leaves fewer mappings; or NULL. */
static struct hz3_span *take_edges(struct hz3_span *span)
{
    uintptr_t start = span->start;
    size_t bytes = hz3_span_bytes(span);
    if (hz3_get(hz3_pages_are_locked) || !hz3_vma_edges_narrow(&start, &bytes)) return NULL;
    size_t first = hz3_granule_of(hz3_window_of((void *)span->start), (void *)start);
    span = hz3_spans_cut(span, first, bytes >> HZ3_GRANULE_SHIFT, HZ3_SPAN_PURGING);
    hz3_pages_begin_purge(span);
    return span;
}

static void mend_edges(struct hz3_span *span)
{
    enum hz3_span_kind kind =
        hz3_range_map_anew(span->start, hz3_span_bytes(span)) ? HZ3_SPAN_CLEAN : hz3_range_renew(span);
    hz3_lock(&hz3_pages_lock);
    hz3_spans_refile(span, kind, (uint32_t)hz3_os_now_ms());
    hz3_pages_end_purge();
    hz3_unlock(&hz3_pages_lock);
}

static struct hz3_span *clean_or_unmapped(struct hz3_window *window, size_t granule)
{
    struct hz3_span *span = hz3_spans_neighbour(window, granule, HZ3_SPAN_CLEAN);
    return span ? span : hz3_spans_neighbour(window, granule, HZ3_SPAN_UNMAPPED);
}

/* The first granule of the clean and unmapped memory that goes on right before a granule; not below `least`. */
static size_t empty_from(struct hz3_window *window, size_t granule, size_t least)
{
    for (struct hz3_span *span; granule > least && (span = clean_or_unmapped(window, granule - 1));)
        granule = hz3_first_granule(window, span);
    return hz3_max(granule, least);
}

/* The end of the clean and unmapped memory that goes on at a granule; not above `most`. */
static size_t empty_to(struct hz3_window *window, size_t granule, size_t most)
{
    for (struct hz3_span *span; granule < most && (span = clean_or_unmapped(window, granule));)
        granule += span->granules;
    return hz3_min(granule, most);
}

/* Granules [from, to) were purged, and are in `span` now.  Gives back the pages of tables, at both ends, that describe
 * some of them and else only clean and unmapped ones.  Under the lock, so that nobody takes those; they are at most two
 * pages of the coarsest table. */
static void purge_shared_tables(const struct hz3_span *span, size_t from, size_t to)
{
    struct hz3_window *window = hz3_window_of((void *)span->start);
    unsigned coarsest = hz3_state_tables ? hz3_state_table_shift(hz3_state_tables - 1) : 0;
    size_t begin = hz3_first_granule(window, span), page = hz3_os.page / sizeof *window->free; /* granules of a page */
    page = hz3_max(page, hz3_os.page << coarsest >> HZ3_GRANULE_SHIFT);
    bool guard = span->kind == HZ3_SPAN_UNMAPPED && begin < from; /* a hole takes in the guard before it */
    size_t left = (from - guard) & -page, right = hz3_round_up(to, page);
    size_t first = empty_from(window, begin, left), end = empty_to(window, begin + span->granules, right);
    bool one = right == left + page;
    if (first < from || (one && end > to)) purge_tables(window, first, hz3_min(left + page, end));
    if (end > to && !one) purge_tables(window, right - page, end);
}

/* Purges a span that is in no list, except parts of huge pages that must not break, and files it again.  Returns the
 * bytes purged. */
static size_t purge_span(struct hz3_span *span, uint32_t now, bool break_huge_pages)
{
    struct hz3_window *window = hz3_window_of((void *)span->start);
    size_t first = hz3_first_granule(window, span), end = first + span->granules;
    size_t from = first, to = end;
    uint32_t since = span->in_pool.since;
    if (!break_huge_pages) {
        from = hz3_round_up(from, hz3_huge_page_granules(window, first));
        to &= ~(hz3_huge_page_granules(window, end - 1) - 1);
        if (to <= from) from = to = end;
    }
    enum hz3_span_kind kind = to > from ? purge_range(window, from, to - from) : HZ3_SPAN_DIRTY;
    if (kind == HZ3_SPAN_DIRTY) from = to = end;
    size_t purged = (to - from) << HZ3_GRANULE_SHIFT;

    hz3_lock(&hz3_pages_lock);
    hz3_spans_unmake(span);
    if (from > first) hz3_spans_file(window, first, from - first, HZ3_SPAN_DIRTY, now);
    struct hz3_span *filed = NULL;
    if (kind != HZ3_SPAN_DIRTY) {
        filed = hz3_spans_file(window, from, to - from, kind, since);
        purge_shared_tables(filed, from, to);
    }
    if (end > to) hz3_spans_file(window, to, end - to, HZ3_SPAN_DIRTY, now);
    hz3_pages_end_purge();
    struct hz3_span *split = kind == HZ3_SPAN_CLEAN ? take_edges(filed) : NULL;
    hz3_unlock(&hz3_pages_lock);
    hz3_gauge_add(HZ3_GAUGE_PURGED, purged);
    if (split) mend_edges(split);
    return purged;
}

size_t hz3_pages_discard(struct hz3_span *span, uint32_t age, bool break_huge_pages)
{
    uint32_t now = (uint32_t)hz3_os_now_ms();
    hz3_lock(&hz3_pages_lock);
    hz3_map_clear(span);
    hz3_pages_begin_purge(span);
    span->in_pool.since = now - age;
    hz3_unlock(&hz3_pages_lock);
    return purge_span(span, now, break_huge_pages);
}

bool hz3_pages_zero(uintptr_t start, size_t bytes)
{
    bool zeroed = hz3_os_purge(start, bytes, 0); /* 0: the pages come back, so no huge page stays broken */
    if (zeroed) hz3_gauge_add(HZ3_GAUGE_PURGED, bytes);
    return zeroed;
}

/* Takes the span that has been dirty for longest out of the lists, if that is `age` ms or more; else NULL.  Of a long
 * span it takes `most` bytes, and on to the end of a huge page. */
static struct hz3_span *take_oldest(uint32_t age, uint32_t now, size_t most)
{
    struct hz3_span *span = hz3_spans_oldest();
    if (!span || !hz3_ms_passed(span->in_pool.since, age, now)) return NULL;
    const struct hz3_window *window = hz3_window_of((void *)span->start);
    size_t first = hz3_first_granule(window, span);
    size_t granules = hz3_max(most >> HZ3_GRANULE_SHIFT, CUT_MIN);
    granules = hz3_round_up(first + granules, hz3_huge_page_granules(window, first + granules - 1)) - first;
    if (granules < span->granules) span = hz3_spans_cut(span, first, granules, HZ3_SPAN_PURGING);
    hz3_pages_begin_purge(span);
    return span;
}

/* hz3_pages_purge, but `left` bytes at most. */
static size_t purge_oldest(uint32_t age, size_t keep, size_t left, bool break_huge_pages)
{
    uint32_t now = (uint32_t)hz3_os_now_ms();
    size_t purged = 0;
    while (left && !hz3_purge_is_cut(age)) {
        hz3_lock(&hz3_pages_lock);
        struct hz3_span *span = hz3_gauge(HZ3_GAUGE_DIRTY) > keep ? take_oldest(age, now, left) : NULL;
        hz3_unlock(&hz3_pages_lock);
        if (!span) break;
        left -= hz3_min(left, hz3_span_bytes(span));
        purged += purge_span(span, now, break_huge_pages);
    }
    return purged;
}

size_t hz3_pages_purge(uint32_t age, size_t keep, bool break_huge_pages)
{
    /* A span that cannot be purged is filed again, so look at no more bytes than there were. */
    size_t purged = purge_oldest(age, keep, hz3_gauge(HZ3_GAUGE_DIRTY), break_huge_pages);
    if (age && !hz3_purge_is_cut(age)) hz3_holes_make(age);
    return purged;
}

/* ---- huge pages that were broken ---- */

/* Purges the clean spans of the window from this granule on. */
static void purge_again(struct hz3_window *window, size_t granule)
{
    uint32_t now = (uint32_t)hz3_os_now_ms();
    for (bool more = true; more;) {
        hz3_lock(&hz3_pages_lock);
        struct hz3_span *span = &window->spans[granule];
        more = granule < hz3_min(window->frontier, window->spans_mapped);
        bool whole = more && span->kind != HZ3_SPAN_NONE && hz3_first_granule(window, span) == granule;
        bool clean = whole && span->kind == HZ3_SPAN_CLEAN;
        granule += whole ? span->granules : 1;
        if (clean) hz3_pages_begin_purge(span);
        hz3_unlock(&hz3_pages_lock);
        if (clean) hz3_gauge_add(HZ3_GAUGE_PURGED, -purge_span(span, now, true)); /* it was counted the first time */
    }
}

void hz3_pages_stay_broken(void)
{
    size_t broken = hz3_get(hz3_os_broken),
           much = hz3_max(hz3_gauge(HZ3_GAUGE_USED) / HZ3_POLICY_SHARE, HZ3_POLICY_STEP);
    if (hz3_huge_pages == HZ3_THP_ALWAYS || broken - hz3_get(acted_on) < much) return;
    hz3_set(acted_on, broken);
    for (uint32_t i = 0; i < hz3_load(hz3_window_count, memory_order_acquire); i++) {
        struct hz3_window *window = &hz3_windows[i];
        hz3_lock(&hz3_pages_lock);
        size_t from = hz3_get(window->broken), to = hz3_min(window->frontier, window->spans_mapped);
        if (to > from)
            hz3_os_huge_pages(window->base + (from << HZ3_GRANULE_SHIFT), (to - from) << HZ3_GRANULE_SHIFT, false);
        hz3_set(window->broken, (uint32_t)to);
        hz3_unlock(&hz3_pages_lock);
        if (to > from) purge_again(window, from);
    }
}

/* ---- bounds ---- */

static size_t free_bytes(void)
{
    return hz3_gauge(HZ3_GAUGE_DIRTY) + hz3_gauge(HZ3_GAUGE_LARGE_CACHED);
}

/* Purges dirty memory beyond `keep` bytes, whatever its age, but `most` bytes at most. */
static void purge_excess(size_t keep, size_t most)
{
    size_t dirty = hz3_gauge(HZ3_GAUGE_DIRTY);
    if (hz3_pages_over_limit()) keep = 0;
    keep -= hz3_min(keep, hz3_gauge(HZ3_GAUGE_LARGE_CACHED));
    if (likely(dirty <= keep) || hz3_pages_refused()) return;
    hz3_rent_purged(purge_oldest(0, keep, hz3_min(most, dirty), true));
    /* If much is kept the background thread will call hz3_pages_stay_broken.  If the program is too busy for that, it
     * is to have its huge pages. */
    if (keep < hz3_pages_much())
        hz3_pages_stay_broken();
    else
        hz3_set(acted_on, hz3_get(hz3_os_broken));
}

void hz3_pages_make_room(size_t bytes)
{
    purge_excess(hz3_pages_growth_bound(free_bytes()), bytes);
}

/* Whether a free may leave purging to the background thread.  Not near a limit, and not where free memory costs
 * something: locked pages, or mappings of moved pages, which purging mends. */
static bool may_wait(void)
{
    return hz3_get(hz3_pages_adaptive) && !hz3_get(hz3_os.counts_mapped) && hz3_get(hz3_pages_purger_runs) &&
           !hz3_get(hz3_pages_are_locked) && hz3_vma_edges_none() && !hz3_pages_near_limit();
}

void hz3_pages_enforce_limits(void)
{
    if (!may_wait()) purge_excess(hz3_pages_retained(free_bytes()), SIZE_MAX);
}

/* ---- fork ---- */

void hz3_pages_after_fork(void)
{
    if (hz3_get(hz3_pages_being_purged) != purging_here) hz3_set(hz3_pages_being_purged, purging_here);
}
