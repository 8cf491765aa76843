#include "back/pages.h"

#include "back/arena.h"
#include "back/vma_edges.h"
#include "back/spans.h"
#include "base/check.h"

enum {
    GROW_MIN = 4,      /* granules mapped at a time: an eighth of what is mapped, */
    GROW_MAX = 16,     /* within these bounds, and on to the end of a huge page where there are such */
    HOLE_MIN = 16,     /* granules of a range that is unmapped, and not only purged, where what is mapped counts */
    BROKEN_SHARE = 16, /* of what is in use: so much may go out of huge pages before they are to stay broken */
    REFUSED_MS = 1000,
    OPEN_SHARE = 8,  /* of small objects' runs: so much may not be in use yet, or there are no more reserves */
    HUGE_SHARE = 64, /* of what is in use: so much is asked for in huge pages at a time */
    LOCKED_DIRTY_MAX = 256 << 10,
    CUT_MIN = 32, /* granules: no less is cut off a long span to be purged */
};

static HZ3_ATOMIC(uint32_t) being_purged; /* spans that are nobody's while their pages go */
static _Thread_local bool purging_here;   /* one of them is this thread's */
static HZ3_ATOMIC(uint32_t) refused_at;   /* ms, when the system last refused to purge; a hint, 0: never */

struct hz3_pages_stats hz3_pages_stats;
struct hz3_lock hz3_pages_lock;
static HZ3_ATOMIC(bool) locked;   /* what is mapped is paid for at once */
static HZ3_ATOMIC(size_t) heeded; /* of hz3_os_broken, by hz3_pages_stay_broken */
HZ3_ATOMIC(size_t) hz3_pages_dirty_max = SIZE_MAX;
bool hz3_pages_elastic;
HZ3_ATOMIC(bool) hz3_pages_attended;
size_t hz3_pages_soft_limit = SIZE_MAX;
bool hz3_pages_huge_never, hz3_pages_huge_always;

static struct hz3_window *window_of(const struct hz3_span *span)
{
    return hz3_window_of((void *)span->start);
}

/* Where huge pages were asked for and who takes a clean span may touch one page of each: no more. */
static void withdraw(const struct hz3_span *span)
{
    size_t unit = hz3_os.huge_page_asked;
    if (!unit || span->kind == HZ3_SPAN_RESERVE) return;
    uintptr_t start = span->start & ~(unit - 1), end = hz3_round_up(span->start + hz3_span_bytes(span), unit);
    bool any = false;
    for (uintptr_t at = start; at < end; at += unit) {
        HZ3_ATOMIC(bool) *asked = &hz3_span_at((void *)at)->asked;
        any |= hz3_get(*asked);
        hz3_set(*asked, false);
    }
    if (any) hz3_os_huge_pages(start, end - start, false);
}

/* Cuts [first, first + granules) out of a free span and files the rest again. */
static struct hz3_span *cut(struct hz3_span *span, size_t first, size_t granules, enum hz3_span_kind kind)
{
    struct hz3_window *window = window_of(span);
    size_t from = hz3_granule_of(window, (void *)span->start), to = from + span->granules;
    enum hz3_span_kind was = (enum hz3_span_kind)span->kind;
    uint32_t since = span->since;
    hz3_spans_unmake(span);
    struct hz3_span *got = hz3_spans_make(window, first, granules, kind);
    got->zeroed = was != HZ3_SPAN_DIRTY;
    if (was == HZ3_SPAN_CLEAN) withdraw(got);
    if (first > from) hz3_spans_file(window, from, first - from, was, since);
    if (first + granules < to) hz3_spans_file(window, first + granules, to - first - granules, was, since);
    return got;
}

static struct hz3_span *take(enum hz3_span_kind state, size_t granules, size_t align, enum hz3_span_kind kind)
{
    struct hz3_span *span = hz3_spans_find(state, granules, align);
    if (!span) return NULL;
    size_t first = hz3_granule_of(window_of(span), (void *)hz3_spans_aligned_start(span, align));
    return cut(span, first, granules, kind);
}

/* ---- growth ---- */

/* Whether what starts here is to have no new huge pages. */
static bool is_broken(const struct hz3_window *window, uintptr_t start)
{
    return hz3_granule_of(window, (void *)start) < hz3_get(window->broken);
}

/* Of what was just mapped, or moved here, the system knows nothing yet.  Among pages that are to stay small it is to be
 * so, too, where it would not be unasked.  Locked memory has its pages already, and would become a mapping apart. */
static void advise(const struct hz3_window *window, uintptr_t start, size_t bytes)
{
    if (hz3_get(locked)) return;
    bool never = hz3_pages_huge_never || (!hz3_os.huge_page_asked && is_broken(window, start));
    if (hz3_pages_huge_always || never) hz3_os_huge_pages(start, bytes, hz3_pages_huge_always);
}

/* Where there are huge pages: none of state bytes, of which every purge would break one. */
static void advise_states(uintptr_t start, size_t bytes)
{
    if (!hz3_os.huge_page && !hz3_pages_huge_never) return;
    for (unsigned i = 0; i < hz3_state_tables; i++) {
        unsigned shift = hz3_state_table_shift(i);
        uintptr_t states = (uintptr_t)hz3_state_at(start, shift) & ~(uintptr_t)(hz3_os.page - 1);
        hz3_os_huge_pages(states, (uintptr_t)hz3_state_at(start + bytes, shift) - states, false);
    }
}

static bool purge(uintptr_t start, size_t bytes)
{
    size_t unit = hz3_max(hz3_huge_page_at(start), hz3_huge_page_at(start + bytes - 1));
    return hz3_os_purge(start, bytes, unit);
}

static void drop_edges(uintptr_t start, size_t bytes)
{
    if (likely(hz3_vma_edges_none())) return;
    hz3_lock(&hz3_pages_lock);
    hz3_vma_edges_drop(start, bytes);
    hz3_unlock(&hz3_pages_lock);
}

/* Whether a span that is not mapped could be mapped again: unless somebody else has the place now. */
static bool map_again(const struct hz3_span *span)
{
    if (hz3_os_map_at(span->start, hz3_span_bytes(span)) != HZ3_MAPPED) return false;
    advise(window_of(span), span->start, hz3_span_bytes(span));
    return true;
}

/* The same for a range without pages, whatever is there: as one with what lies beside it. */
static bool map_anew(uintptr_t start, size_t bytes)
{
    if (hz3_os_map_reserved(start, bytes) != HZ3_MAPPED) return false;
    advise(hz3_window_of((void *)start), start, bytes);
    drop_edges(start, bytes);
    return true;
}

/* Makes what may still be mapped, or in part, ready for use: where it is as a whole, purging it does, and needs no room
 * for a mapping.  Says what it is now. */
static enum hz3_span_kind renew(const struct hz3_span *span)
{
    uintptr_t start = span->start;
    size_t bytes = hz3_span_bytes(span);
    if (purge(start, bytes) || map_anew(start, bytes)) return HZ3_SPAN_CLEAN;
    drop_edges(start, bytes);
    return HZ3_SPAN_UNMAPPED;
}

/* Of a huge page, which the system makes unasked or is to be asked for; 1: of none. */
static size_t huge_granules(void)
{
    return hz3_max(hz3_max(hz3_os.huge_page, hz3_os.huge_page_asked) >> HZ3_GRANULE_SHIFT, 1);
}

/* The system makes a huge page only where all of it is mapped when it is touched first: steps end with a whole one, and
 * those for a reserve hold at least one.  Small heaps go without. */
static size_t step_of(const struct hz3_window *window, size_t granules, bool for_reserve)
{
    if (hz3_get(locked)) return granules;
    size_t used = hz3_get(hz3_pages_stats.used) >> HZ3_GRANULE_SHIFT, unit = huge_granules(), at = window->frontier;
    if (for_reserve) return hz3_round_up(hz3_round_up(at, unit) + hz3_max(used / HUGE_SHARE, 1), unit) - at;
    size_t step = hz3_max(granules, hz3_max(GROW_MIN, hz3_min(used / 8, GROW_MAX)));
    return hz3_os.huge_page && step >= GROW_MAX ? hz3_round_up(at + step, unit) - at : step;
}

/* For reserves: the whole huge pages of a clean range. */
static void ask_for_huge_pages(uintptr_t start, uintptr_t end)
{
    size_t unit = hz3_os.huge_page_asked;
    start = hz3_round_up(start, unit);
    if (start >= end || !hz3_os_huge_pages(start, end - start, true)) return;
    for (; start < end; start += unit) hz3_set(hz3_span_at((void *)start)->asked, true);
}

/* 0: done, else why not. */
static int64_t extend_window(struct hz3_window *window, size_t granules, bool for_reserve)
{
    size_t step = step_of(window, granules, for_reserve);
    int64_t first = hz3_arena_extend(window, step);
    if (first < 0 && !for_reserve) first = hz3_arena_extend(window, step = granules);
    if (first < 0) return first;
    uintptr_t start = window->base + ((uintptr_t)first << HZ3_GRANULE_SHIFT);
    advise(window, start, step << HZ3_GRANULE_SHIFT);
    if (for_reserve) ask_for_huge_pages(start, start + (step << HZ3_GRANULE_SHIFT));
    advise_states(start, step << HZ3_GRANULE_SHIFT);
    hz3_spans_file(window, (size_t)first, step, HZ3_SPAN_CLEAN, 0);
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
    /* A window that is opened stays, though the system then refuses what it was opened for. */
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
    if (!span || map_again(span)) return span;
    hz3_spans_refile(span, HZ3_SPAN_UNMAPPED, 0);
    return NULL;
}

bool hz3_pages_refused(void)
{
    uint32_t at = hz3_get(refused_at);
    return at && (uint32_t)hz3_os_now_ms() - at < REFUSED_MS;
}

/* Where dirty spans stay dirty, clean ones between them would keep them from ever merging. */
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

/* Whether a further huge page would soon be in use as a whole: it, the other reserves and the runs of small objects
 * that are not in use to their end yet are an eighth of all runs of small objects at most. */
static bool is_dense(size_t granules)
{
    size_t open =
        hz3_get(hz3_pages_stats.growing) + hz3_get(hz3_pages_stats.reserved) + (granules << HZ3_GRANULE_SHIFT);
    return open <= hz3_get(hz3_pages_stats.small) / OPEN_SHARE;
}

/* A granule of the reserve, which is NULL after its last. */
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
    if (span && span->zeroed && !is_broken(window_of(span), span->start) && !hz3_get(span->asked))
        ask_for_huge_pages(span->start, span->start + hz3_span_bytes(span));
    return span;
}

/* Of one granule.  What is dirty comes before a new reserve: it costs no page fault. */
static struct hz3_span *take_for_run(struct hz3_span **reserve)
{
    size_t unit = hz3_os.huge_page_asked >> HZ3_GRANULE_SHIFT;
    bool wanted = unit > 1 && !hz3_get(locked) && !hz3_pages_above_limit();
    if (!*reserve && wanted && is_dense(unit) && !hz3_spans_find(HZ3_SPAN_DIRTY, 1, 1)) *reserve = take_reserve(unit);
    return *reserve ? take_from_reserve(reserve) : take_any(1, 1, HZ3_SPAN_RUN);
}

/* ---- purging one span ---- */

/* Whether a free range is to be a hole, since what is mapped counts: not a small one, since the system bounds how many
 * there are, nor one in a reservation, where anybody's mapping might come to lie. */
static bool leaves_hole(const struct hz3_window *window, size_t granules)
{
    return hz3_os.counts_mapped && !window->reserved && granules >= HOLE_MIN;
}

/* Gives the pages of an unlisted range back, and those of its state bytes (all 0: no object lives there); returns
 * what the range is then.  Locked pages do not go unless they are unmapped, and neither does what counts as mapped. */
static enum hz3_span_kind purge_range(struct hz3_window *window, size_t first, size_t granules)
{
    uintptr_t start = window->base + (first << HZ3_GRANULE_SHIFT);
    size_t bytes = granules << HZ3_GRANULE_SHIFT;
    bool purged = purge(start, bytes);
    bool unmapped = (!purged || leaves_hole(window, granules)) && hz3_os_unmap(start, bytes);
    if (!purged && !unmapped) {
        hz3_set(refused_at, hz3_max((uint32_t)hz3_os_now_ms(), 1u));
        return HZ3_SPAN_DIRTY;
    }
    if (unmapped) drop_edges(start, bytes);
    for (unsigned i = 0; i < hz3_state_tables; i++) {
        unsigned shift = hz3_state_table_shift(i);
        uintptr_t from = hz3_round_up((uintptr_t)hz3_state_at(start, shift), hz3_os.page);
        uintptr_t to = (uintptr_t)hz3_state_at(start + bytes, shift) & ~(uintptr_t)(hz3_os.page - 1);
        if (to > from) hz3_os_purge(from, to - from, 0);
    }
    return unmapped ? HZ3_SPAN_UNMAPPED : HZ3_SPAN_CLEAN;
}

/* Makes a span that nobody uses one that is in no list. */
static void begin_purge(struct hz3_span *span)
{
    struct hz3_window *window = window_of(span);
    size_t first = hz3_granule_of(window, (void *)span->start), granules = span->granules;
    hz3_spans_unmake(span);
    hz3_spans_make(window, first, granules, HZ3_SPAN_PURGING);
    span->bytes = hz3_lock_self();
    purging_here = true;
    hz3_add(being_purged, 1);
}

/* Under the lock that the span is filed under: a fork in between would leave the child a purge that nobody ends. */
static void end_purge(void)
{
    hz3_sub(being_purged, 1);
    purging_here = false;
}

/* What of a clean span is to be mapped anew, since that leaves fewer mappings: out of the lists.  Or NULL. */
static struct hz3_span *take_edges(struct hz3_span *span)
{
    uintptr_t start = span->start;
    size_t bytes = hz3_span_bytes(span);
    if (hz3_get(locked) || !hz3_vma_edges_narrow(&start, &bytes)) return NULL;
    size_t first = hz3_granule_of(window_of(span), (void *)start);
    span = cut(span, first, bytes >> HZ3_GRANULE_SHIFT, HZ3_SPAN_PURGING);
    begin_purge(span);
    return span;
}

static void mend_edges(struct hz3_span *span)
{
    enum hz3_span_kind kind = map_anew(span->start, hz3_span_bytes(span)) ? HZ3_SPAN_CLEAN : renew(span);
    hz3_lock(&hz3_pages_lock);
    hz3_spans_refile(span, kind, 0);
    end_purge();
    hz3_unlock(&hz3_pages_lock);
}

/* Purges what is allowed of one span that is in no list, and files it again.  Returns the bytes purged. */
static size_t purge_span(struct hz3_span *span, uint32_t now, bool break_huge_pages)
{
    struct hz3_window *window = window_of(span);
    size_t first = hz3_granule_of(window, (void *)span->start), end = first + span->granules;
    size_t from = first, to = end;
    if (!break_huge_pages) {
        size_t unit = huge_granules(), bytes = hz3_span_bytes(span);
        if (hz3_huge_page_at(span->start)) from = hz3_round_up(from, unit);
        if (hz3_huge_page_at(span->start + bytes - 1)) to &= ~(unit - 1);
        if (to <= from) from = to = end;
    }
    enum hz3_span_kind kind = to > from ? purge_range(window, from, to - from) : HZ3_SPAN_DIRTY;
    if (kind == HZ3_SPAN_DIRTY) from = to = end;
    size_t purged = (to - from) << HZ3_GRANULE_SHIFT;

    hz3_lock(&hz3_pages_lock);
    hz3_spans_unmake(span);
    if (from > first) hz3_spans_file(window, first, from - first, HZ3_SPAN_DIRTY, now);
    struct hz3_span *filed = to > from ? hz3_spans_file(window, from, to - from, kind, 0) : NULL;
    if (end > to) hz3_spans_file(window, to, end - to, HZ3_SPAN_DIRTY, now);
    end_purge();
    struct hz3_span *split = kind == HZ3_SPAN_CLEAN ? take_edges(filed) : NULL;
    hz3_unlock(&hz3_pages_lock);
    hz3_add(hz3_pages_stats.purged, purged);
    if (split) mend_edges(split);
    return purged;
}

/* Takes what has been dirty for longest, and for `age`, out of the lists, but no more of a long span than so many
 * bytes, to the end of a huge page; or NULL. */
static struct hz3_span *take_oldest(uint32_t age, uint32_t now, size_t most)
{
    struct hz3_span *span = hz3_spans_oldest();
    if (!span || !hz3_ms_passed(span->since, age, now)) return NULL;
    size_t first = hz3_granule_of(window_of(span), (void *)span->start);
    size_t granules = hz3_max(most >> HZ3_GRANULE_SHIFT, CUT_MIN);
    granules = hz3_round_up(first + granules, huge_granules()) - first;
    if (granules < span->granules) span = cut(span, first, granules, HZ3_SPAN_PURGING);
    begin_purge(span);
    return span;
}

/* As hz3_pages_purge, `left` bytes. */
static size_t purge_oldest(uint32_t age, size_t keep, size_t left, bool break_huge_pages)
{
    uint32_t now = (uint32_t)hz3_os_now_ms();
    size_t purged = 0;
    while (left) {
        hz3_lock(&hz3_pages_lock);
        struct hz3_span *span = hz3_get(hz3_pages_stats.dirty) > keep ? take_oldest(age, now, left) : NULL;
        hz3_unlock(&hz3_pages_lock);
        if (!span) break;
        left -= hz3_min(left, hz3_span_bytes(span));
        purged += purge_span(span, now, break_huge_pages);
    }
    return purged;
}

size_t hz3_pages_purge(uint32_t age, size_t keep, bool break_huge_pages)
{
    /* What could not be purged comes back: look at no more than there was. */
    return purge_oldest(age, keep, hz3_get(hz3_pages_stats.dirty), break_huge_pages);
}

/* ---- bounds ---- */

/* Purges of what is more than may stay free, whatever its age, `most` bytes. */
static void purge_excess(size_t most)
{
    size_t keep = hz3_pages_pressed() ? 0 : hz3_get(hz3_pages_dirty_max), dirty = hz3_get(hz3_pages_stats.dirty);
    keep -= hz3_min(keep, hz3_get(hz3_pages_stats.large_cached));
    if (likely(dirty <= keep) || hz3_pages_refused()) return;
    purge_oldest(0, keep, hz3_min(most, dirty), true);
    /* If more is kept the background thread will come, unless the program is too busy for that: it is to have its huge
     * pages. */
    if (keep < HZ3_PAGES_MUCH)
        hz3_pages_stay_broken();
    else
        hz3_set(heeded, hz3_get(hz3_os_broken));
}

/* Whether who frees may leave all to the background thread: not near a limit, nor where what is free is paid for, if
 * only with mappings, which purging mends. */
static bool may_wait(void)
{
    return hz3_pages_elastic && hz3_get(hz3_pages_attended) && !hz3_get(locked) && hz3_vma_edges_none() &&
           hz3_pages_resident() <= hz3_pages_soft_limit / 2;
}

void hz3_pages_heed_limits(void)
{
    if (!may_wait()) purge_excess(SIZE_MAX);
}

/* ---- the interface ---- */

/* reserve: where the span may be taken from if it is a run of one granule, else NULL. */
static struct hz3_span *alloc(size_t granules, size_t align_granules, enum hz3_span_kind kind,
                              struct hz3_span **reserve)
{
    for (bool purged = false;;) {
        hz3_lock(&hz3_pages_lock);
        struct hz3_span *span = reserve ? take_for_run(reserve) : take_any(granules, align_granules, kind);
        uint32_t purging = hz3_get(being_purged);
        hz3_unlock(&hz3_pages_lock);
        /* What had no pages: as much goes, where more is free than may be.  (A run of one granule had the choice.) */
        if (span && span->zeroed && !reserve) purge_excess(hz3_span_bytes(span));
        if (span) return span;
        /* What others are purging is nobody's for the moment.  (If we fork, they wait for us.) */
        if (purging && !hz3_lock_is_mine(&hz3_pages_lock)) {
            hz3_os_wait(&being_purged, purging, 1);
            continue;
        }
        /* Purged, dirty spans merge with their clean neighbours: there may be room after all.  Once only where purges
         * are refused: there what is clean is made dirty again. */
        if ((purged && hz3_pages_refused()) || !hz3_pages_purge(0, 0, true)) return NULL;
        purged = true;
    }
}

struct hz3_span *hz3_pages_alloc(size_t granules, size_t align_granules, enum hz3_span_kind kind)
{
    return alloc(granules, align_granules, kind, NULL);
}

struct hz3_span *hz3_pages_alloc_run(size_t granules, struct hz3_span **reserve)
{
    return alloc(granules, 1, HZ3_SPAN_RUN, granules == 1 ? reserve : NULL);
}

/* A run's granules are all tagged, of a large block's the first. */
static void clear_tags(const struct hz3_span *span)
{
    hz3_map_tag(span->start, span->kind == HZ3_SPAN_RUN ? span->granules : 1, HZ3_CLASS_NONE, 0);
}

/* An allocated span is free again, as `kind`. */
static void give_up(struct hz3_span *span, enum hz3_span_kind kind)
{
    uint32_t now = (uint32_t)hz3_os_now_ms();
    clear_tags(span);
    hz3_lock(&hz3_pages_lock);
    hz3_spans_refile(span, kind, now);
    hz3_unlock(&hz3_pages_lock);
}

void hz3_pages_free(struct hz3_span *span)
{
    give_up(span, HZ3_SPAN_DIRTY);
    hz3_pages_heed_limits();
}

bool hz3_pages_zero(struct hz3_span *span)
{
    size_t bytes = hz3_span_bytes(span);
    bool zeroed = hz3_os_purge(span->start, bytes, 0); /* its pages will come back: no huge page is broken for good */
    if (zeroed) hz3_add(hz3_pages_stats.purged, bytes);
    return zeroed;
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

/* The free span that starts at a granule and has room for `more`, or NULL. */
static struct hz3_span *find_room(struct hz3_window *window, size_t at, size_t more, bool extend)
{
    struct hz3_span *span = hz3_spans_neighbour(window, at, HZ3_SPAN_DIRTY);
    if (!span) span = hz3_spans_neighbour(window, at, HZ3_SPAN_CLEAN);
    struct hz3_span *hole = extend && !span ? hz3_spans_neighbour(window, at, HZ3_SPAN_UNMAPPED) : NULL;
    if (hole) {
        hole = cut(hole, at, hz3_min(more, hole->granules), HZ3_SPAN_LARGE);
        hz3_spans_refile(hole, map_again(hole) ? HZ3_SPAN_CLEAN : HZ3_SPAN_UNMAPPED, 0);
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
        hz3_spans_unmake(cut(right, end, more, kind));
        hz3_spans_unmake(span);
        hz3_spans_make(window, first, granules, kind);
    }
    hz3_unlock(&hz3_pages_lock);
    if (clean) purge_excess(more << HZ3_GRANULE_SHIFT);
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
    return !window_of(span)->reserved && !hz3_vma_edges_full() && (!hz3_os.counts_mapped || is_one_mapping(span));
}

bool hz3_pages_move(struct hz3_span *to, struct hz3_span *from)
{
    withdraw(from); /* else what was asked for would go along */
    /* Longer, it stays one mapping, which can be moved again; but pages that `to` already has are worth more. */
    size_t bytes = hz3_span_bytes(from), to_bytes = to->zeroed && is_one_mapping(from) ? hz3_span_bytes(to) : bytes;
    /* In a reservation anybody's mapping might come to lie where a move that fails leaves a hole. */
    if (window_of(to)->reserved || !hz3_os_move(to->start, to_bytes, from->start, bytes)) {
        give_up(to, renew(to)); /* some kernels have unmapped it by then */
        return false;
    }
    hz3_lock(&hz3_pages_lock);
    hz3_vma_edges_move(to->start, to_bytes, from->start, bytes);
    hz3_unlock(&hz3_pages_lock);
    advise(window_of(to), to->start, hz3_span_bytes(to));
    bool hole = hz3_get(locked) || leaves_hole(window_of(from), from->granules);
    give_up(from, !hole && map_again(from) ? HZ3_SPAN_CLEAN : HZ3_SPAN_UNMAPPED);
    return true;
}

/* ---- purge ---- */

void hz3_pages_locked(void)
{
    hz3_set(locked, true);
    if (hz3_get(hz3_pages_dirty_max) > LOCKED_DIRTY_MAX) hz3_set(hz3_pages_dirty_max, LOCKED_DIRTY_MAX);
}

size_t hz3_pages_discard(struct hz3_span *span, bool break_huge_pages)
{
    clear_tags(span);
    hz3_lock(&hz3_pages_lock);
    begin_purge(span);
    hz3_unlock(&hz3_pages_lock);
    return purge_span(span, (uint32_t)hz3_os_now_ms(), break_huge_pages);
}

static void resume_purged(struct hz3_span *span)
{
    if (span->kind == HZ3_SPAN_PURGING && span->bytes != hz3_lock_self()) {
        give_up(span, renew(span)); /* the purger may have come as far as to unmap it */
        hz3_sub(being_purged, 1);
    }
}

bool hz3_pages_purging_here(void)
{
    return purging_here;
}

void hz3_pages_after_fork(bool whole)
{
    if (!whole)
        hz3_set(being_purged, purging_here);
    else if (hz3_get(being_purged))
        hz3_map_each_span(resume_purged);
}

/* Purges what is clean from this granule of the window on. */
static void purge_again(struct hz3_window *window, size_t granule)
{
    uint32_t now = (uint32_t)hz3_os_now_ms();
    for (bool more = true; more;) {
        hz3_lock(&hz3_pages_lock);
        struct hz3_span *span = &window->spans[granule];
        more = granule < hz3_min(window->frontier, window->spans_mapped);
        bool whole = more && span->kind != HZ3_SPAN_NONE && hz3_granule_of(window, (void *)span->start) == granule;
        bool clean = whole && span->kind == HZ3_SPAN_CLEAN;
        granule += whole ? span->granules : 1;
        if (clean) begin_purge(span);
        hz3_unlock(&hz3_pages_lock);
        if (clean) hz3_sub(hz3_pages_stats.purged, purge_span(span, now, true)); /* counted when it went first */
    }
}

void hz3_pages_stay_broken(void)
{
    size_t broken = hz3_get(hz3_os_broken), much = hz3_max(hz3_get(hz3_pages_stats.used) / BROKEN_SHARE, HZ3_MIB(2));
    if (hz3_pages_huge_always || broken - hz3_get(heeded) < much) return;
    hz3_set(heeded, broken);
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
