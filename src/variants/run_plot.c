/* In the place of back/run_span.c: each run has a plot of its own.  Before a plot lies a guard granule that nobody may
 * touch.  A free plot serves the next run that is not much smaller, whatever its class.  A large block may use it, too,
 * and may lie right behind it.  If there is no memory for a further plot, a run takes any span.
 *
 * A plot is a mapping, and the system allows a process 65530 of these by default.  So once the heap has more than PLOTS
 * granules, a PLOTSth of it is mapped at a time, and runs of any class share that. */
#include "back/run_span.h"

#include "back/arena.h"
#include "back/free_spans.h"
#include "back/grow.h"

enum {
    PLOTS = 4096,
    TRIES = 64, /* looks at so many free spans of a size; some are no plots, but rests of larger spans */
};

/* A free plot that is whole and has so many granules, or NULL. */
static struct hz3_span *find_plot(enum hz3_span_kind state, size_t granules)
{
    struct hz3_span *span = hz3_spans_of_size(state, granules);
    for (int i = 1; span && *span->plot != granules; i++) span = i < TRIES ? span->next : NULL;
    return span;
}

/* A larger plot is better than a new one, whose pages cost faults.  No other run may use the rest of it. */
static struct hz3_span *take_plot(enum hz3_span_kind state, size_t granules)
{
    struct hz3_span *span = NULL;
    for (size_t size = granules; !span && size <= 2 * granules + 2; size++) span = find_plot(state, size);
    if (!span) return NULL;
    const struct hz3_window *window = hz3_window_of((void *)span->start);
    return hz3_spans_cut(span, hz3_granule_of(window, (void *)span->start), granules, HZ3_SPAN_RUN);
}

/* Maps a step of the window behind a guard.  Returns its first granule, or the reason why not. */
static int64_t grow_apart(struct hz3_window *window, size_t step)
{
    if (!hz3_arena_skip(window, 1)) return HZ3_ARENA_FULL;
    uint32_t before = window->frontier;
    int64_t first = hz3_grow_by(window, step, false);
    if (first >= 0) *window->spans[first].plot = (uint32_t)step;
    if (first != HZ3_ARENA_REFUSED || window->frontier != before) return first;
    hz3_arena_unskip(window, 1);
    return first;
}

static struct hz3_span *map_plot(size_t granules, size_t step)
{
    int64_t first = HZ3_ARENA_FULL;
    uint32_t i = 0;
    while (first == HZ3_ARENA_FULL && i < hz3_get(hz3_window_count)) first = grow_apart(&hz3_windows[i++], step);
    return first < 0 ? NULL : hz3_spans_cut(&hz3_windows[i - 1].spans[first], (size_t)first, granules, HZ3_SPAN_RUN);
}

static struct hz3_span *take_free(size_t granules)
{
    struct hz3_span *span = hz3_take(HZ3_SPAN_DIRTY, granules, 1, HZ3_SPAN_RUN);
    return span ? span : hz3_take(HZ3_SPAN_CLEAN, granules, 1, HZ3_SPAN_RUN);
}

struct hz3_span *hz3_run_span_take(size_t granules, struct hz3_span **reserve)
{
    (void)reserve; /* the runs in one would be neighbours */
    size_t share = (hz3_grown >> HZ3_GRANULE_SHIFT) / PLOTS;
    struct hz3_span *span = share > granules ? take_free(granules) : NULL;
    if (!span) span = take_plot(HZ3_SPAN_DIRTY, granules);
    if (!span) span = take_plot(HZ3_SPAN_CLEAN, granules);
    if (!span) span = hz3_take_hole(take_plot(HZ3_SPAN_UNMAPPED, granules));
    if (!span) span = map_plot(granules, hz3_max(granules, share));
    /* Perhaps no further mapping may be made, but the last one may grow. */
    return span ? span : hz3_take_any(granules, 1, HZ3_SPAN_RUN);
}
