#include "back/pages.h"

#include "back/arena.h"
#include "back/free_spans.h"
#include "back/gauges.h"
#include "back/huge_pages.h"
#include "back/learn.h"
#include "back/limits.h"
#include "back/purge.h"
#include "back/range.h"
#include "back/vma_edges.h"

enum {
    GROW_MIN = 4,    /* granules mapped at a time: an eighth of what is in use, */
    GROW_MAX = 16,   /* within these bounds; where there are huge pages, on to the end of one */
    OPEN_SHARE = 8,  /* no more reserves if more than this share of small objects' runs is not in use yet */
    HUGE_SHARE = 64, /* this share of what is in use is asked for in huge pages at a time */
};

static size_t extended; /* bytes of address space ever taken; under the lock */

static struct hz3_window *window_of(const struct hz3_span *span)
{
    return hz3_window_of((void *)span->start);
}

static struct hz3_span *take(enum hz3_span_kind state, size_t granules, size_t align, enum hz3_span_kind kind)
{
    struct hz3_span *span = hz3_spans_find(state, granules, align);
    if (!span) return NULL;
    size_t first = hz3_granule_of(window_of(span), (void *)hz3_spans_aligned_start(span, align));
    return hz3_spans_cut(span, first, granules, kind);
}

/* ---- growth ---- */

/* The system makes a huge page only where all of it is mapped when it is first touched.  So steps end with a whole one,
 * and those for a reserve hold at least one.  Small processes go without. */
static size_t step_of(const struct hz3_window *window, size_t granules, bool for_reserve)
{
    if (hz3_get(hz3_pages_are_locked)) return granules;
    size_t used = hz3_gauge(HZ3_GAUGE_USED) >> HZ3_GRANULE_SHIFT, huge_page = hz3_huge_page_granules(),
           at = window->frontier;
    if (for_reserve) return hz3_round_up(hz3_round_up(at, huge_page) + hz3_max(used / HUGE_SHARE, 1), huge_page) - at;
    size_t step = hz3_max(granules, hz3_max(GROW_MIN, hz3_min(used / 8, GROW_MAX)));
    return hz3_get(hz3_os.huge_page) && step >= GROW_MAX ? hz3_round_up(at + step, huge_page) - at : step;
}

/* 0: done, else why not. */
static int64_t extend_window(struct hz3_window *window, size_t granules, bool for_reserve)
{
    if (extended + (granules << HZ3_GRANULE_SHIFT) > HZ3_LEARN_FROM) hz3_learn_locked();
    size_t step = step_of(window, granules, for_reserve);
    int64_t first = hz3_arena_extend(window, step);
    if (first < 0 && !for_reserve) first = hz3_arena_extend(window, step = granules);
    if (first < 0) return first;
    uintptr_t start = window->base + ((uintptr_t)first << HZ3_GRANULE_SHIFT);
    hz3_huge_pages_advise(window, start, step << HZ3_GRANULE_SHIFT);
    if (for_reserve) hz3_huge_pages_ask(start, start + (step << HZ3_GRANULE_SHIFT));
    hz3_huge_pages_advise_states(start, step << HZ3_GRANULE_SHIFT);
    hz3_spans_file(window, (size_t)first, step, HZ3_SPAN_CLEAN, 0);
    extended += step << HZ3_GRANULE_SHIFT;
    return 0;
}

static bool extend(size_t granules, bool for_reserve)
{
    for (uint32_t i = 0; i < hz3_get(hz3_window_count); i++) {
        int64_t reason = extend_window(&hz3_windows[i], granules, for_reserve);
        if (reason == 0) return true;
        if (reason == HZ3_ARENA_REFUSED) return false; /* a further window would not be given memory either */
    }
    if (for_reserve) return false;
    /* A window stays once it is opened.  So try first whether the system has the memory for which it is opened. */
    size_t bytes = granules << HZ3_GRANULE_SHIFT;
    uintptr_t room = hz3_os_reserve(bytes);
    if (!room) return false;
    hz3_os_unmap(room, bytes);
    struct hz3_window *window = hz3_arena_open_window(bytes);
    return window && extend_window(window, granules, false) == 0;
}

static struct hz3_span *take_hole(size_t granules, size_t align, enum hz3_span_kind kind)
{
    struct hz3_span *span = take(HZ3_SPAN_UNMAPPED, granules, align, kind);
    if (!span || hz3_range_map_again(span)) return span;
    hz3_spans_refile(span, HZ3_SPAN_UNMAPPED, 0);
    return NULL;
}

/* For a system that refuses purges: dirty spans stay dirty, and could not merge with clean ones between them. */
static void merge_clean(void)
{
    for (struct hz3_span *span; (span = hz3_spans_find(HZ3_SPAN_CLEAN, 1, 1));)
        hz3_spans_refile(span, HZ3_SPAN_DIRTY, (uint32_t)hz3_os_now_ms());
}

static struct hz3_span *take_any(size_t granules, size_t align, enum hz3_span_kind kind)
{
    struct hz3_span *span = take(HZ3_SPAN_DIRTY, granules, align, kind);
    if (!span) span = take(HZ3_SPAN_CLEAN, granules, align, kind);
    if (!span) span = take_hole(granules, align, kind);
    if (!span && kind != HZ3_SPAN_RESERVE && hz3_pages_refused()) {
        merge_clean();
        span = take(HZ3_SPAN_DIRTY, granules, align, kind);
    }
    if (!span && extend(granules + align - 1, kind == HZ3_SPAN_RESERVE))
        span = take(HZ3_SPAN_CLEAN, granules, align, kind);
    return span;
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
    size_t first = hz3_granule_of(window, (void *)(*reserve)->start), granules = (*reserve)->granules;
    hz3_spans_unmake(*reserve);
    *reserve = granules > 1 ? hz3_spans_make(window, first + 1, granules - 1, HZ3_SPAN_RESERVE) : NULL;
    return hz3_spans_make(window, first, 1, HZ3_SPAN_RUN);
}

static struct hz3_span *take_reserve(size_t granules)
{
    struct hz3_span *span = take_any(granules, granules, HZ3_SPAN_RESERVE);
    if (span && span->zeroed && !hz3_huge_pages_are_broken(window_of(span), span->start) && !hz3_get(span->asked))
        hz3_huge_pages_ask(span->start, span->start + hz3_span_bytes(span));
    return span;
}

/* A span of one granule.  A dirty span is better than a new reserve, since it costs no page fault. */
static struct hz3_span *take_for_run(struct hz3_span **reserve)
{
    size_t huge_page = hz3_get(hz3_os.huge_page_asked) >> HZ3_GRANULE_SHIFT;
    bool wanted = huge_page > 1 && !hz3_get(hz3_pages_are_locked) && !hz3_pages_above_limit();
    if (!*reserve && wanted && is_dense(huge_page) && !hz3_spans_find(HZ3_SPAN_DIRTY, 1, 1))
        *reserve = take_reserve(huge_page);
    return *reserve ? take_from_reserve(reserve) : take_any(1, 1, HZ3_SPAN_RUN);
}

/* ---- the interface ---- */

/* reserve: that of the heap, if the span is to be a run of one granule; else NULL. */
static struct hz3_span *alloc(size_t granules, size_t align_granules, enum hz3_span_kind kind,
                              struct hz3_span **reserve)
{
    for (bool purged = false;;) {
        hz3_lock(&hz3_pages_lock);
        size_t before = extended;
        struct hz3_span *span = reserve ? take_for_run(reserve) : take_any(granules, align_granules, kind);
        bool fresh = extended != before;
        uint32_t purging = hz3_get(hz3_pages_being_purged);
        hz3_unlock(&hz3_pages_lock);
        if (span && span->zeroed && !fresh) hz3_pages_retook(hz3_span_bytes(span));
        /* Growth makes room.  (Not for a run of one granule: it would have taken any dirty span.) */
        if (span && span->zeroed && !reserve) hz3_pages_make_room(hz3_span_bytes(span));
        if (span) return span;
        /* Spans that other threads are purging are in no list: wait for them. */
        if (purging) {
            hz3_os_wait(&hz3_pages_being_purged, purging, 1);
            continue;
        }
        /* A purged span merges with its clean neighbours, so there may be room after all.  Try once only where purges
         * are refused, since there clean spans are made dirty again. */
        if ((purged && hz3_pages_refused()) || !hz3_pages_purge(0, 0, true)) return NULL;
        purged = true;
    }
}

struct hz3_span *hz3_pages_alloc(size_t granules, size_t align_granules, enum hz3_span_kind kind)
{
    return alloc(granules, align_granules, kind, NULL);
}

struct hz3_span *hz3_pages_alloc_untouched(size_t granules)
{
    hz3_lock(&hz3_pages_lock);
    struct hz3_span *span = take(HZ3_SPAN_CLEAN, granules, 1, HZ3_SPAN_LARGE);
    if (!span && extend(granules, false)) span = take(HZ3_SPAN_CLEAN, granules, 1, HZ3_SPAN_LARGE);
    hz3_unlock(&hz3_pages_lock);
    return span;
}

struct hz3_span *hz3_pages_alloc_run(size_t granules, struct hz3_span **reserve)
{
    return alloc(granules, 1, HZ3_SPAN_RUN, granules == 1 ? reserve : NULL);
}

/* Frees an allocated span, as `kind`. */
static void give_up(struct hz3_span *span, enum hz3_span_kind kind)
{
    uint32_t now = (uint32_t)hz3_os_now_ms();
    hz3_map_clear(span);
    hz3_lock(&hz3_pages_lock);
    hz3_spans_refile(span, kind, now);
    hz3_unlock(&hz3_pages_lock);
}

void hz3_pages_free(struct hz3_span *span)
{
    give_up(span, HZ3_SPAN_DIRTY);
    hz3_pages_heed_limits();
}

void hz3_pages_shrink(struct hz3_span *span, size_t granules)
{
    struct hz3_window *window = window_of(span);
    size_t first = hz3_granule_of(window, (void *)span->start), rest = span->granules - granules;
    enum hz3_span_kind kind = (enum hz3_span_kind)span->kind;
    uint32_t now = (uint32_t)hz3_os_now_ms();
    hz3_lock(&hz3_pages_lock);
    hz3_spans_unmake(span);
    hz3_spans_make(window, first, granules, kind);
    hz3_spans_file(window, first + granules, rest, HZ3_SPAN_DIRTY, now);
    hz3_unlock(&hz3_pages_lock);
    hz3_pages_heed_limits();
}

/* The free span that starts at a granule and has room for `more` granules, or NULL. */
static struct hz3_span *find_room(struct hz3_window *window, size_t at, size_t more, bool extend)
{
    struct hz3_span *span = hz3_spans_neighbour(window, at, HZ3_SPAN_DIRTY);
    if (!span) span = hz3_spans_neighbour(window, at, HZ3_SPAN_CLEAN);
    struct hz3_span *hole = extend && !span ? hz3_spans_neighbour(window, at, HZ3_SPAN_UNMAPPED) : NULL;
    if (hole) {
        hole = hz3_spans_cut(hole, at, hz3_min(more, hole->granules), HZ3_SPAN_LARGE);
        hz3_spans_refile(hole, hz3_range_map_again(hole) ? HZ3_SPAN_CLEAN : HZ3_SPAN_UNMAPPED, 0);
        span = hz3_spans_neighbour(window, at, HZ3_SPAN_CLEAN);
    }
    size_t room = span ? span->granules : 0;
    bool last = at + room == window->frontier && !(span && span->kind == HZ3_SPAN_DIRTY);
    if (extend && last && room < more && extend_window(window, more - room, false) == 0)
        span = hz3_spans_neighbour(window, at, HZ3_SPAN_CLEAN);
    return span && span->granules >= more ? span : NULL;
}

bool hz3_pages_grow(struct hz3_span *span, size_t granules, bool extend)
{
    struct hz3_window *window = window_of(span);
    size_t first = hz3_granule_of(window, (void *)span->start), have = span->granules, more = granules - have;
    enum hz3_span_kind kind = (enum hz3_span_kind)span->kind;
    hz3_lock(&hz3_pages_lock);
    size_t end = first + have;
    struct hz3_span *right = find_room(window, end, more, extend);
    bool grown = right, clean = grown && right->kind == HZ3_SPAN_CLEAN;
    if (grown) {
        hz3_spans_unmake(hz3_spans_cut(right, end, more, kind));
        hz3_spans_unmake(span);
        hz3_spans_make(window, first, granules, kind);
    }
    hz3_unlock(&hz3_pages_lock);
    if (clean) hz3_pages_make_room(more << HZ3_GRANULE_SHIFT);
    return grown;
}

static bool is_one_mapping(const struct hz3_span *span)
{
    hz3_lock(&hz3_pages_lock);
    bool one = !hz3_vma_edges_inside(span->start, hz3_span_bytes(span));
    hz3_unlock(&hz3_pages_lock);
    return one;
}

bool hz3_pages_may_move(const struct hz3_span *span)
{
    return !window_of(span)->reserved && !hz3_vma_edges_full() &&
           (!hz3_get(hz3_os.counts_mapped) || is_one_mapping(span));
}

bool hz3_pages_move(struct hz3_span *to, struct hz3_span *from)
{
    hz3_huge_pages_withdraw(from); /* else the advice would move with the pages */
    /* If the move makes it longer, it stays one mapping, which can be moved again.  But if `to` has pages, these are
     * worth more. */
    size_t bytes = hz3_span_bytes(from), to_bytes = to->zeroed && is_one_mapping(from) ? hz3_span_bytes(to) : bytes;
    /* A move that fails may leave a hole; in a reservation anybody's mapping might come to lie there. */
    if (window_of(to)->reserved || !hz3_os_move(to->start, to_bytes, from->start, bytes)) {
        give_up(to, hz3_range_renew(to)); /* some kernels have unmapped it by then */
        return false;
    }
    hz3_lock(&hz3_pages_lock);
    hz3_vma_edges_move(to->start, to_bytes, from->start, bytes);
    hz3_unlock(&hz3_pages_lock);
    hz3_huge_pages_advise(window_of(to), to->start, hz3_span_bytes(to));
    bool hole = hz3_get(hz3_pages_are_locked) || hz3_range_leaves_hole(window_of(from), from->granules);
    give_up(from, !hole && hz3_range_map_again(from) ? HZ3_SPAN_CLEAN : HZ3_SPAN_UNMAPPED);
    return true;
}
