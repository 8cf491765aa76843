/* Replaces back/large_cache.c: nobody may read or write a freed large block, so an access to it ends the process.
 *
 * The last KEPT blocks of up to KEPT_GRANULES keep their pages, zeroed and inaccessible.  Further ones make dirty
 * memory of the oldest.  Where such blocks come and go, to unmap them and to fault in as many pages again would cost
 * five times as much.
 *
 * All others are unmapped at once, and their addresses wait until COUNT further blocks, or BYTES in sum, were freed.
 * Then they are mapped again, which joins them with their neighbours: each block that waits may cost the process a
 * mapping, of the 65530 that the system allows by default, and no other does.  In a reservation a block is made
 * inaccessible instead.
 *
 * While a block goes away it counts as being purged, so a request that needs its memory waits for it.
 *
 * If the system refuses to part a mapping, the blocks that wait are mapped again first.  If it still refuses, the
 * block's pages are given back, so that it reads as zero, and it does not wait.
 *
 * Nobody gets what was in a block. */
#include "back/large_cache.h"

#include "back/free_spans.h"
#include "back/gauges.h"
#include "back/huge_pages.h"
#include "back/limits.h"
#include "back/pages.h"
#include "back/purge.h"
#include "back/range.h"
#include "secure/seal.h"

#include <string.h>

enum {
    COUNT = 256,
    BYTES = 256 << 20, /* the last one may be larger alone */
    KEPT = 16,
    KEPT_GRANULES = 4,
    KEPT_BYTES = 2 << 20,
};

/* Rings, under the page pool's lock. */
static struct hz3_span *waiting[COUNT];
static unsigned first, count;
static HZ3_ATOMIC(size_t) bytes_waiting;
static struct {
    struct hz3_span *span;
    uint32_t since; /* ms */
} kept[KEPT];
static unsigned first_kept, count_kept;
static size_t bytes_kept;

struct hz3_span *hz3_large_cache_take(size_t granules, size_t align)
{
    (void)granules, (void)align;
    return NULL; /* what waits is for nobody */
}

/* Whether it may go on as a hole: where mapped memory counts, and beside another hole. */
static bool stays_hole(struct hz3_window *window, const struct hz3_span *span)
{
    size_t at = hz3_first_granule(window, span);
    return !window->reserved && ((hz3_pages_mapped_counts() && hz3_range_holes_are_few()) ||
                                 hz3_spans_neighbour(window, at - 1, HZ3_SPAN_UNMAPPED) ||
                                 hz3_spans_neighbour(window, at + span->granules, HZ3_SPAN_UNMAPPED));
}

/* Makes the addresses that waited longest usable again.  The page pool's lock is held. */
static void release_oldest(void)
{
    struct hz3_span *span = waiting[first];
    struct hz3_window *window = hz3_window_of((void *)span->start);
    first = (first + 1) % COUNT;
    count--;
    hz3_set(bytes_waiting, hz3_get(bytes_waiting) - hz3_span_bytes(span));
    bool mapped = !stays_hole(window, span) &&
                  (window->reserved ? hz3_os_map_reserved(span->start, hz3_span_bytes(span)) == HZ3_MAPPED
                                    : hz3_range_map_again(span));
    if (mapped && window->reserved) hz3_huge_pages_advise(window, span->start, hz3_span_bytes(span));
    if (mapped || !window->reserved) hz3_spans_refile(span, mapped ? HZ3_SPAN_CLEAN : HZ3_SPAN_UNMAPPED, 0);
}

static void release_all(void)
{
    hz3_lock(&hz3_pages_lock);
    while (count) release_oldest();
    hz3_unlock(&hz3_pages_lock);
}

static bool take_away(const struct hz3_span *span)
{
    bool reserved = hz3_window_of((void *)span->start)->reserved;
    return (reserved ? hz3_os_reserve_again : hz3_os_unmap)(span->start, hz3_span_bytes(span));
}

static void make_waiting(struct hz3_span *span)
{
    struct hz3_window *window = hz3_window_of((void *)span->start);
    size_t at = hz3_first_granule(window, span), granules = span->granules;
    hz3_spans_unmake(span);
    hz3_spans_make(window, at, granules, HZ3_SPAN_WAITING);
}

/* The system keeps the block mapped.  (Where it also refuses access, nobody gets the block again.) */
static HZ3_COLD void free_at_once(struct hz3_span *span)
{
    bool usable = hz3_os_writable(span->start, hz3_span_bytes(span));
    bool clean = usable && hz3_range_purge(span->start, hz3_span_bytes(span));
    if (usable && !clean) memset((void *)span->start, 0, hz3_span_bytes(span));
    hz3_lock(&hz3_pages_lock);
    if (usable)
        hz3_spans_refile(span, clean ? HZ3_SPAN_CLEAN : HZ3_SPAN_DIRTY, (uint32_t)hz3_os_now_ms());
    else
        make_waiting(span);
    hz3_pages_end_purge();
    hz3_unlock(&hz3_pages_lock);
}

static void put_away(struct hz3_span *span)
{
    hz3_lock(&hz3_pages_lock); /* first: back/fork_reserve may be about to write the span's kind */
    hz3_map_clear(span);
    hz3_pages_begin_purge(span);
    size_t bytes = hz3_span_bytes(span);
    hz3_unlock(&hz3_pages_lock);
    bool gone = take_away(span);
    if (unlikely(!gone)) {
        release_all();
        gone = take_away(span);
    }
    if (unlikely(!gone)) {
        free_at_once(span);
        return;
    }
    hz3_range_drop_edges(span->start, bytes);
    hz3_lock(&hz3_pages_lock);
    make_waiting(span);
    hz3_set(bytes_waiting, hz3_get(bytes_waiting) + bytes);
    while (count && (count == COUNT || hz3_get(bytes_waiting) > BYTES)) release_oldest();
    waiting[(first + count++) % COUNT] = span;
    hz3_pages_end_purge();
    hz3_unlock(&hz3_pages_lock);
    hz3_gauge_add(HZ3_GAUGE_PURGED, bytes);
}

/* Takes out the block that has been kept for longest, if that is `age` ms, or there is no room for `more` bytes. */
static struct hz3_span *take_kept(uint32_t age, size_t more)
{
    struct hz3_span *span = NULL;
    hz3_lock(&hz3_pages_lock);
    bool full = count_kept == KEPT || bytes_kept + more > KEPT_BYTES;
    if (count_kept && (full || hz3_ms_passed(kept[first_kept].since, age, (uint32_t)hz3_os_now_ms()))) {
        span = kept[first_kept].span;
        first_kept = (first_kept + 1) % KEPT;
        count_kept--;
        bytes_kept -= hz3_span_bytes(span);
    }
    hz3_unlock(&hz3_pages_lock);
    return span;
}

/* Zeroes a block and makes it inaccessible.  Pages that were never written to stay so.  False: it is large, or memory
 * is scarce, or the system refused. */
static bool hide(const struct hz3_span *span)
{
    size_t bytes = hz3_span_bytes(span), used = hz3_min(hz3_round_up(hz3_sealed(span->bytes), hz3_os.page), bytes);
    if (span->granules > KEPT_GRANULES || hz3_get(hz3_pages_are_locked) || hz3_pages_near_limit()) return false;
    hz3_lock(&hz3_pages_lock); /* a sweep that took the block for live is done with it */
    hz3_unlock(&hz3_pages_lock);
    if (used < bytes && !hz3_range_purge(span->start + used, bytes - used)) return false;
    for (uintptr_t page = span->start; page < span->start + used; page += hz3_os.page)
        if (!hz3_seal_is_wiped((void *)page, hz3_os.page)) memset((void *)page, 0, hz3_os.page);
    return hz3_os_inaccessible(span->start, bytes);
}

/* False: other threads took the room that there was. */
static bool keep(struct hz3_span *span)
{
    hz3_lock(&hz3_pages_lock);
    bool room = count_kept < KEPT;
    if (room) {
        unsigned at = (first_kept + count_kept++) % KEPT;
        kept[at].span = span;
        kept[at].since = (uint32_t)hz3_os_now_ms();
        bytes_kept += hz3_span_bytes(span);
    }
    hz3_unlock(&hz3_pages_lock);
    return room;
}

static void let_go(struct hz3_span *span)
{
    if (hz3_os_writable(span->start, hz3_span_bytes(span)))
        hz3_pages_free(span);
    else
        put_away(span);
}

void hz3_large_cache_put(struct hz3_span *span)
{
    if (!hide(span)) return put_away(span);
    for (struct hz3_span *old; (old = take_kept(UINT32_MAX, hz3_span_bytes(span)));) let_go(old);
    if (!keep(span)) put_away(span);
}

void hz3_large_cache_shrink(struct hz3_span *span, size_t granules)
{
    struct hz3_window *window = hz3_window_of((void *)span->start);
    size_t at = hz3_first_granule(window, span), more = span->granules - granules;
    hz3_lock(&hz3_pages_lock);
    hz3_spans_unmake(span);
    hz3_spans_make(window, at, granules, HZ3_SPAN_LARGE);
    struct hz3_span *rest = hz3_spans_make(window, at + granules, more, HZ3_SPAN_LARGE);
    hz3_unlock(&hz3_pages_lock);
    put_away(rest);
}

size_t hz3_large_cache_trim(uint32_t age, bool break_huge_pages)
{
    (void)break_huge_pages;
    size_t purged = 0;
    for (struct hz3_span *span; (span = take_kept(age, 0)); put_away(span)) purged += hz3_span_bytes(span);
    if (!age) release_all();
    return purged;
}

/* Blocks here have no pages that anybody could take. */
void hz3_large_cache_yield(void) {}

size_t hz3_large_cache_addresses(void)
{
    return hz3_get(bytes_waiting);
}

void hz3_large_cache_make_room(size_t bytes)
{
    (void)bytes;
}

void hz3_large_cache_each_lock(void (*visit)(struct hz3_lock *lock))
{
    (void)visit; /* the page pool's is visited anyway */
}
