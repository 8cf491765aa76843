#include "back/pages.h"

#include "back/arena.h"
#include "back/free_spans.h"
#include "back/grow.h"
#include "back/holes.h"
#include "back/huge_pages.h"
#include "back/limits.h"
#include "back/purge.h"
#include "back/range.h"
#include "back/rent.h"
#include "back/run_span.h"
#include "back/vma_edges.h"
#include "os/refusal.h"

static struct hz3_window *window_of(const struct hz3_span *span)
{
    return hz3_window_of((void *)span->start);
}

/* For a request that was refused.  Where mapped memory counts clean memory goes, too.  It does if the system has no
 * room for as much, with tables, and grants a page.  If it grants none the mappings may be used up, or a limit may have
 * been set below what the process has: then what goes might not come back. */
static bool give_back(size_t bytes)
{
    size_t all = bytes + bytes / 8 + HZ3_MIB(1);
    if (!hz3_pages_mapped_counts() && !hz3_os_has_room(all) && hz3_os_has_room(hz3_os.page))
        hz3_set(hz3_os.counts_mapped, true);
    bool purged = hz3_pages_purge(0, 0, true);
    return (hz3_pages_mapped_counts() && hz3_holes_make(0)) || purged;
}

struct hz3_span *hz3_pages_alloc(size_t granules, size_t align_granules, enum hz3_span_kind kind)
{
    uint32_t waits = 0; /* a purge by others is waited for only if it was under way at first */
    for (bool again = false;; again = true) {
        hz3_lock(&hz3_pages_lock);
        size_t before = hz3_grown;
        struct hz3_span *span =
            kind == HZ3_SPAN_RUN ? hz3_run_span_take(granules) : hz3_take_any(granules, align_granules, kind);
        bool fresh = hz3_grown != before;
        size_t more = hz3_gauge(HZ3_GAUGE_DIRTY) + hz3_gauge(HZ3_GAUGE_PURGING) + hz3_gauge(HZ3_GAUGE_CLEAN);
        if (!again) waits = hz3_get(hz3_pages_being_purged);
        hz3_unlock(&hz3_pages_lock);
        if (span && span->zeroed && !fresh) hz3_rent_refaulted(hz3_span_bytes(span));
        /* Growth makes room.  (Not for a run of one granule: it would have taken any dirty span.) */
        if (span && span->zeroed && !(kind == HZ3_SPAN_RUN && granules == 1)) hz3_pages_make_room(hz3_span_bytes(span));
        if (span) return span;
        /* A purged span merges with its clean neighbours, so there may be room after all. */
        size_t bytes = (granules + align_granules - 1) << HZ3_GRANULE_SHIFT;
        if ((again && !waits) || !more || !hz3_pages_may_help(bytes, more)) return NULL;
        bool gave_back = !again && give_back(bytes);
        if (!waits && !gave_back) return NULL;
        if (!waits) continue;
        waits--;
        hz3_pages_await_purge();
    }
}

struct hz3_span *hz3_pages_alloc_dirty(size_t granules, size_t align_granules)
{
    hz3_lock(&hz3_pages_lock);
    struct hz3_span *span = hz3_take(HZ3_SPAN_DIRTY, granules, align_granules, HZ3_SPAN_LARGE);
    hz3_unlock(&hz3_pages_lock);
    return span;
}

/* If that is next to the small pages, these go on behind it. */
static bool grow_untouched(size_t granules)
{
    size_t small = hz3_get(hz3_small_pages_bytes), most = hz3_get(hz3_small_pages_most);
    hz3_set(hz3_small_pages_most, HZ3_SMALL_PAGES + (granules << HZ3_GRANULE_SHIFT));
    bool grown = hz3_grow(granules);
    if (hz3_get(hz3_small_pages_bytes) == small) hz3_set(hz3_small_pages_most, most);
    return grown;
}

struct hz3_span *hz3_pages_alloc_untouched(size_t granules)
{
    hz3_lock(&hz3_pages_lock);
    struct hz3_span *span = hz3_take(HZ3_SPAN_CLEAN, granules, 1, HZ3_SPAN_LARGE);
    if (!span) span = hz3_take_hole(hz3_take(HZ3_SPAN_UNMAPPED, granules, 1, HZ3_SPAN_LARGE));
    if (!span && grow_untouched(granules)) span = hz3_take(HZ3_SPAN_CLEAN, granules, 1, HZ3_SPAN_LARGE);
    hz3_unlock(&hz3_pages_lock);
    return span;
}

/* Frees an allocated span, as `kind`. */
static void refile(struct hz3_span *span, enum hz3_span_kind kind)
{
    uint32_t now = (uint32_t)hz3_os_now_ms();
    hz3_lock(&hz3_pages_lock); /* first: back/fork_reserve may be about to write the span's kind */
    hz3_map_clear(span);
    hz3_spans_refile(span, kind, now);
    hz3_unlock(&hz3_pages_lock);
}

void hz3_pages_give_up(struct hz3_span *span)
{
    refile(span, HZ3_SPAN_DIRTY);
}

void hz3_pages_free(struct hz3_span *span)
{
    hz3_pages_give_up(span);
    hz3_pages_enforce_limits();
}

void hz3_pages_leave(struct hz3_span *span)
{
    hz3_lock(&hz3_pages_lock);
    hz3_spans_unmake(span);
    hz3_arena_end(window_of(span));
    hz3_unlock(&hz3_pages_lock);
    hz3_os_unmap(span->start, hz3_span_bytes(span));
    hz3_range_drop_edges(span->start, hz3_span_bytes(span));
    hz3_map_skip(span->start, span->granules);
}

void hz3_pages_shrink(struct hz3_span *span, size_t granules)
{
    struct hz3_window *window = window_of(span);
    size_t first = hz3_first_granule(window, span), rest = span->granules - granules;
    uint32_t now = (uint32_t)hz3_os_now_ms();
    hz3_lock(&hz3_pages_lock); /* first: back/fork_reserve may be about to write the span's kind */
    enum hz3_span_kind kind = (enum hz3_span_kind)span->kind;
    hz3_spans_unmake(span);
    hz3_spans_make(window, first, granules, kind);
    hz3_spans_file(window, first + granules, rest, HZ3_SPAN_DIRTY, now);
    hz3_unlock(&hz3_pages_lock);
    hz3_pages_enforce_limits();
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
    if (extend && last && room < more && hz3_grow_window(window, more - room) >= 0)
        span = hz3_spans_neighbour(window, at, HZ3_SPAN_CLEAN);
    return span && span->granules >= more ? span : NULL;
}

bool hz3_pages_grow(struct hz3_span *span, size_t granules, bool extend)
{
    struct hz3_window *window = window_of(span);
    size_t first = hz3_first_granule(window, span), have = span->granules, more = granules - have;
    hz3_lock(&hz3_pages_lock); /* first: as in hz3_pages_shrink */
    enum hz3_span_kind kind = (enum hz3_span_kind)span->kind;
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
    if (window_of(span)->reserved) return false;
    hz3_lock(&hz3_pages_lock);
    bool full = hz3_vma_edges_full();
    hz3_unlock(&hz3_pages_lock);
    return !full && (!hz3_get(hz3_os.counts_mapped) || is_one_mapping(span));
}

/* Whether huge pages may be made of all of both, or of neither. */
static bool all_alike(const struct hz3_span *a, const struct hz3_span *b)
{
    bool huge = hz3_huge_page_at(a->start);
    return !hz3_huge_page_at(a->start + hz3_span_bytes(a) - 1) == !huge && !hz3_huge_page_at(b->start) == !huge &&
           !hz3_huge_page_at(b->start + hz3_span_bytes(b) - 1) == !huge;
}

bool hz3_pages_move(struct hz3_span *to, struct hz3_span *from)
{
    /* Pages that are to stay small would stay so where huge ones may be. */
    if (!all_alike(from, to)) {
        refile(to, to->zeroed ? HZ3_SPAN_CLEAN : HZ3_SPAN_DIRTY);
        return false;
    }
    /* If the move makes it longer, it stays one mapping, which can be moved again.  But if `to` has pages, these are
     * worth more. */
    bool one = is_one_mapping(from); /* also waits for a sweep that took the block for live (secure/sweep.c) */
    size_t bytes = hz3_span_bytes(from), to_bytes = to->zeroed && one ? hz3_span_bytes(to) : bytes;
    /* A move that fails may leave a hole; in a reservation anybody's mapping might come to lie there. */
    if (window_of(to)->reserved || !hz3_os_move(to->start, to_bytes, from->start, bytes)) {
        refile(to, hz3_range_renew(to)); /* some kernels have unmapped it by then */
        return false;
    }
    hz3_lock(&hz3_pages_lock);
    hz3_vma_edges_move(to->start, to_bytes, from->start, bytes);
    hz3_unlock(&hz3_pages_lock);
    hz3_huge_pages_advise(window_of(to), to->start, hz3_span_bytes(to));
    refile(from, !hz3_moved_stays_hole(from) && hz3_range_map_again(from) ? HZ3_SPAN_CLEAN : HZ3_SPAN_UNMAPPED);
    return true;
}
