/* Replaces back/run_span.c: before each run lies a guard, an inaccessible granule.  A large block may lie right behind
 * a run, and so may free granules.
 *
 * A guard is a hole in the mapping of a free span, out of which a run is cut.  It stays when the run ends, as long as
 * what lies behind it is dirty, for the next run there.  A purge unmaps that, and then all is one hole again.  (Where
 * windows are reservations there are no holes, and guards stay for good.)
 *
 * Each guard parts two mappings, and the system allows a process 65530 of these by default.  So where there are GUARDS
 * of them, further ones come only with growth, one for each SHARE granules; other runs lie beside each other.  If the
 * system refuses to part a mapping, since the program has the others, some guards are mapped again, which joins their
 * neighbours, and for a minute there are no new ones.
 *
 * Nothing is mapped in the middle of a hole: that may bring a process to one mapping above the limit, and then the
 * system refuses every mapping, also those that would join others. */
#include "back/run_span.h"

#include "back/free_spans.h"
#include "back/gauges.h"
#include "back/grow.h"
#include "back/range.h"
#include "back/vma_edges.h"
#include "secure/seal.h"

enum {
    GUARDS = 4096,
    SHARE = 64,
    TRIES = 64,           /* free spans that are examined for one with a guard */
    GIVEN_UP = 64,        /* guards, when the system refused one */
    PAUSE_MS = 60 * 1000, /* without new guards, from then on */
};

static uint32_t refused_at; /* ms, when the system last refused a guard, or 0; under the page pool's lock */

static bool is_crowded(void)
{
    if (refused_at && (uint32_t)hz3_os_now_ms() - refused_at < PAUSE_MS) return true;
    return hz3_gauge(HZ3_GAUGE_GUARDS) >> HZ3_GRANULE_SHIFT >= GUARDS + (hz3_grown >> HZ3_GRANULE_SHIFT) / SHARE;
}

/* Maps up to `most` guards of the window again, if what lies before them is mapped; returns how many. */
static unsigned give_up_guards(struct hz3_window *window, unsigned most)
{
    size_t end = hz3_min(window->frontier, window->spans_mapped), granules;
    unsigned given_up = 0;
    for (size_t g = 0; g < end && given_up < most && !window->reserved; g += granules) {
        struct hz3_span *span = &window->spans[g];
        bool whole = span->kind != HZ3_SPAN_NONE && hz3_first_granule(window, span) == g;
        granules = whole ? span->granules : 1;
        if (!whole || span->kind != HZ3_SPAN_GUARD || hz3_spans_neighbour(window, g - 1, HZ3_SPAN_UNMAPPED)) continue;
        if (!hz3_range_map_again(span)) continue;
        hz3_spans_refile(span, HZ3_SPAN_CLEAN, 0);
        given_up++;
    }
    return given_up;
}

static void after_refusal(void)
{
    refused_at = hz3_max((uint32_t)hz3_os_now_ms(), 1u);
    for (uint32_t i = 0, given_up = 0; i < hz3_get(hz3_window_count); i++)
        given_up += give_up_guards(&hz3_windows[i], GIVEN_UP - given_up);
}

static bool is_guarded(const struct hz3_span *span)
{
    struct hz3_window *window = hz3_window_of((void *)span->start);
    return hz3_spans_neighbour(window, hz3_first_granule(window, span) - 1, HZ3_SPAN_GUARD);
}

/* A free span with room for so many granules behind a guard, and for the guard if it has none; or NULL. */
static struct hz3_span *find(enum hz3_span_kind state, size_t granules)
{
    struct hz3_span *span = hz3_spans_of_size(state, granules);
    for (int i = 1; span && !is_guarded(span); i++) span = i < TRIES ? span->in_pool.next : NULL;
    return span ? span : hz3_spans_find(state, granules + 1, 1);
}

/* Makes the first granule of a span a guard, and a run's span of the rest.  NULL: the system refused. */
static struct hz3_span *put_guard(struct hz3_span *span, enum hz3_span_kind state)
{
    struct hz3_window *window = hz3_window_of((void *)span->start);
    size_t first = hz3_first_granule(window, span), granules = span->granules - 1;
    bool zeroed = span->zeroed;
    if (!(window->reserved ? hz3_os_reserve_again : hz3_os_unmap)(span->start, HZ3_GRANULE)) {
        hz3_spans_refile(span, state, span->in_pool.since);
        after_refusal();
        return NULL;
    }
    hz3_vma_edges_drop(span->start, HZ3_GRANULE);
    hz3_spans_unmake(span);
    hz3_spans_make(window, first, 1, HZ3_SPAN_GUARD);
    span = hz3_spans_make(window, first + 1, granules, HZ3_SPAN_RUN);
    span->zeroed = zeroed;
    return span;
}

static struct hz3_span *take(enum hz3_span_kind state, size_t granules)
{
    struct hz3_span *span = find(state, granules);
    if (!span) return NULL;
    bool guarded = is_guarded(span);
    size_t first = hz3_first_granule(hz3_window_of((void *)span->start), span);
    span = hz3_spans_cut(span, first, guarded ? granules : granules + 1, HZ3_SPAN_RUN);
    if (state == HZ3_SPAN_UNMAPPED) {
        span = hz3_take_hole(span);
        state = HZ3_SPAN_CLEAN;
    }
    return span && !guarded ? put_guard(span, state) : span;
}

bool hz3_moved_stays_hole(const struct hz3_span *from)
{
    (void)from;
    return true; /* nobody may read there what was moved */
}

struct hz3_span *hz3_run_span_take(size_t granules)
{
    static const enum hz3_span_kind states[] = {HZ3_SPAN_DIRTY, HZ3_SPAN_CLEAN, HZ3_SPAN_UNMAPPED};
    struct hz3_span *span = NULL;
    for (int i = 0; i < 3 && !span && !is_crowded(); i++) span = take(states[i], granules);
    if (!span && !is_crowded() && hz3_grow(granules + 1)) span = take(HZ3_SPAN_CLEAN, granules);
    /* Perhaps no further mapping may be made, but the last one may grow. */
    return span ? span : hz3_take_any(granules, 1, HZ3_SPAN_RUN);
}

void hz3_run_span_clear(const struct hz3_span *run)
{
    hz3_seal_wipe_pages((void *)run->start, hz3_get(run->bump) * hz3_class_size(run->cls));
}
