#include "back/grow.h"

#include "back/arena.h"
#include "back/free_spans.h"
#include "back/gauges.h"
#include "back/huge_pages.h"
#include "back/learn.h"
#include "back/limits.h"
#include "back/purge.h"
#include "back/range.h"

enum {
    GROW_MIN = 4,   /* granules mapped at a time: an eighth of what is in use, */
    GROW_MAX = 16,  /* within these bounds, where there are huge pages, on to the end of one */
    HOLE_MAX = 256, /* granules mapped at a time in a hole */
};

HZ3_TOGETHER HZ3_CACHE_ALIGNED size_t hz3_grown;

struct hz3_span *hz3_take(enum hz3_span_kind state, size_t granules, size_t align, enum hz3_span_kind kind)
{
    struct hz3_span *span = hz3_spans_find(state, granules, align);
    if (!span) return NULL;
    size_t first = hz3_granule_of(hz3_window_of((void *)span->start), (void *)hz3_spans_aligned_start(span, align));
    return hz3_spans_cut(span, first, granules, kind);
}

/* The system makes a huge page only where all of it is mapped when it is first touched.  So steps end with a whole one.
 * Small processes go without. */
static size_t step_of(const struct hz3_window *window, size_t at, size_t granules, size_t most)
{
    if (hz3_get(hz3_pages_are_locked)) return granules;
    size_t used = hz3_gauge(HZ3_GAUGE_USED) >> HZ3_GRANULE_SHIFT;
    size_t step = hz3_max(granules, hz3_max(GROW_MIN, hz3_min(used / 8, most)));
    uintptr_t start = window->base + ((uintptr_t)at << HZ3_GRANULE_SHIFT);
    if (step < GROW_MAX || hz3_small_pages_go_on(start, step << HZ3_GRANULE_SHIFT)) return step;
    return hz3_round_up(at + step, hz3_huge_page_granules(window, at)) - at;
}

static void learn_in_time(size_t granules)
{
    size_t after = hz3_grown + (granules << HZ3_GRANULE_SHIFT);
    if (after >= HZ3_LEARN_HUGE_PAGES_FROM) hz3_learn_locked(after > HZ3_LEARN_FROM);
}

static int64_t grow_by(struct hz3_window *window, size_t step)
{
    learn_in_time(step);
    int64_t first = hz3_arena_extend(window, step);
    if (first < 0) return first;
    uintptr_t start = window->base + ((uintptr_t)first << HZ3_GRANULE_SHIFT);
    hz3_small_pages_grew(start, step << HZ3_GRANULE_SHIFT);
    hz3_huge_pages_advise(window, start, step << HZ3_GRANULE_SHIFT);
    hz3_spans_file(window, (size_t)first, step, HZ3_SPAN_CLEAN, (uint32_t)hz3_os_now_ms());
    hz3_grown += step << HZ3_GRANULE_SHIFT;
    return first;
}

int64_t hz3_grow_window(struct hz3_window *window, size_t granules)
{
    learn_in_time(granules); /* the step depends on it */
    size_t step = step_of(window, window->frontier, granules, GROW_MAX);
    int64_t first = grow_by(window, step);
    return first < 0 && step > granules ? grow_by(window, granules) : first;
}

bool hz3_grow(size_t granules)
{
    for (uint32_t i = 0; i < hz3_get(hz3_window_count); i++) {
        int64_t reason = hz3_grow_window(&hz3_windows[i], granules);
        if (reason >= 0) return true;
        if (reason == HZ3_ARENA_REFUSED) return false; /* a further window would not be given memory either */
    }
    /* A window stays once it is opened.  So try first whether the system has the memory for which it is opened. */
    size_t bytes = granules << HZ3_GRANULE_SHIFT;
    if (!hz3_pages_have_room(bytes)) return false;
    struct hz3_window *window = hz3_arena_open_window(bytes);
    return window && hz3_grow_window(window, granules) >= 0;
}

struct hz3_span *hz3_take_hole(struct hz3_span *span)
{
    if (!span || hz3_range_map_again(span)) return span;
    hz3_spans_refile(span, HZ3_SPAN_UNMAPPED, 0);
    return NULL;
}

/* Takes a span out of a hole, of which more is mapped again, for the next ones: an eighth of what is in use.  (Where
 * mappings count, no more.) */
static struct hz3_span *take_from_hole(size_t granules, size_t align, enum hz3_span_kind kind)
{
    struct hz3_span *hole = hz3_spans_find(HZ3_SPAN_UNMAPPED, granules, align);
    if (!hole) return NULL;
    struct hz3_window *window = hz3_window_of((void *)hole->start);
    size_t end = hz3_first_granule(window, hole) + hole->granules;
    size_t first = hz3_granule_of(window, (void *)hz3_spans_aligned_start(hole, align));
    size_t more = hz3_get(hz3_os.counts_mapped) ? granules : step_of(window, first, granules, HOLE_MAX);
    size_t step = hz3_min(more, end - first);
    struct hz3_span *span = hz3_take_hole(hz3_spans_cut(hole, first, step, kind));
    if (!span && step > granules) return hz3_take_hole(hz3_take(HZ3_SPAN_UNMAPPED, granules, align, kind));
    if (!span || step == granules) return span;
    hz3_spans_refile(span, HZ3_SPAN_CLEAN, (uint32_t)hz3_os_now_ms());
    return hz3_take(HZ3_SPAN_CLEAN, granules, align, kind);
}

/* For a system that refuses purges: dirty spans stay dirty, and could not merge with clean ones between them. */
static void merge_clean(void)
{
    for (struct hz3_span *span; (span = hz3_spans_find(HZ3_SPAN_CLEAN, 1, 1));)
        hz3_spans_refile(span, HZ3_SPAN_DIRTY, (uint32_t)hz3_os_now_ms());
}

struct hz3_span *hz3_take_any(size_t granules, size_t align, enum hz3_span_kind kind)
{
    struct hz3_span *span = hz3_take(HZ3_SPAN_DIRTY, granules, align, kind);
    if (!span) span = hz3_take(HZ3_SPAN_CLEAN, granules, align, kind);
    if (!span) span = take_from_hole(granules, align, kind);
    if (!span && hz3_pages_refused()) {
        merge_clean();
        span = hz3_take(HZ3_SPAN_DIRTY, granules, align, kind);
    }
    if (!span && hz3_grow(granules + align - 1)) span = hz3_take(HZ3_SPAN_CLEAN, granules, align, kind);
    return span;
}
