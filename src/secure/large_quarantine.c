/* Replaces back/large_cache.c: a freed large block is unmapped at once, so that an access to it ends the process, and
 * its addresses wait until COUNT further blocks, or BYTES in sum, were freed.  Then they are mapped again, which joins
 * them with their neighbours: each block that waits may cost the process a mapping, of the 65530 that the system allows
 * by default, and no other does.  In a reservation a block is made inaccessible instead.
 *
 * If the system refuses to part a mapping, the blocks that wait are mapped again first.  If it still refuses, the
 * block's pages are given back, so that it reads as zero, and it does not wait.
 *
 * Free blocks are never dirty: nobody gets what was in one. */
#include "back/large_cache.h"

#include "back/free_spans.h"
#include "back/gauges.h"
#include "back/limits.h"
#include "back/pages.h"
#include "back/range.h"

#include <string.h>

enum {
    COUNT = 256,
    BYTES = 256 << 20, /* the last one may be larger alone */
};

/* A ring, under the page pool's lock. */
static struct hz3_span *waiting[COUNT];
static unsigned first, count;
static size_t bytes_waiting;

struct hz3_span *hz3_large_cache_take(size_t granules, size_t align)
{
    (void)granules, (void)align;
    return NULL; /* what waits is for nobody */
}

/* Whether it may go on as a hole: where mapped memory counts, and beside another hole. */
static bool stays_hole(struct hz3_window *window, const struct hz3_span *span)
{
    size_t at = hz3_first_granule(window, span);
    return !window->reserved && (hz3_pages_mapped_counts() || hz3_spans_neighbour(window, at - 1, HZ3_SPAN_UNMAPPED) ||
                                 hz3_spans_neighbour(window, at + span->granules, HZ3_SPAN_UNMAPPED));
}

/* Makes the addresses that waited longest usable again.  The page pool's lock is held. */
static void release_oldest(void)
{
    struct hz3_span *span = waiting[first];
    struct hz3_window *window = hz3_window_of((void *)span->start);
    first = (first + 1) % COUNT;
    count--;
    bytes_waiting -= hz3_span_bytes(span);
    bool mapped = !stays_hole(window, span) &&
                  (window->reserved ? hz3_os_map_reserved(span->start, hz3_span_bytes(span)) == HZ3_MAPPED
                                    : hz3_range_map_again(span));
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

/* The system keeps the block mapped. */
static HZ3_COLD void free_at_once(struct hz3_span *span)
{
    bool clean = hz3_range_purge(span->start, hz3_span_bytes(span));
    if (!clean) memset((void *)span->start, 0, hz3_span_bytes(span));
    hz3_map_clear(span);
    hz3_lock(&hz3_pages_lock);
    hz3_spans_refile(span, clean ? HZ3_SPAN_CLEAN : HZ3_SPAN_DIRTY, (uint32_t)hz3_os_now_ms());
    hz3_unlock(&hz3_pages_lock);
}

void hz3_large_cache_put(struct hz3_span *span)
{
    struct hz3_window *window = hz3_window_of((void *)span->start);
    size_t at = hz3_first_granule(window, span), granules = span->granules;
    bool gone = take_away(span);
    if (unlikely(!gone)) {
        release_all();
        gone = take_away(span);
    }
    if (unlikely(!gone)) {
        free_at_once(span);
        return;
    }
    hz3_range_drop_edges(span->start, hz3_span_bytes(span));
    hz3_map_clear(span);
    hz3_lock(&hz3_pages_lock);
    hz3_spans_unmake(span);
    span = hz3_spans_make(window, at, granules, HZ3_SPAN_WAITING);
    bytes_waiting += hz3_span_bytes(span);
    while (count && (count == COUNT || bytes_waiting > BYTES)) release_oldest();
    waiting[(first + count++) % COUNT] = span;
    hz3_unlock(&hz3_pages_lock);
    hz3_gauge_add(HZ3_GAUGE_PURGED, hz3_span_bytes(span));
}

bool hz3_large_cache_shrink(struct hz3_span *span, size_t granules)
{
    (void)span, (void)granules;
    return false; /* the program could still read what it gives up */
}

/* Nothing that waits has pages. */
size_t hz3_large_cache_trim(uint32_t age, bool break_huge_pages)
{
    (void)break_huge_pages;
    if (!age) release_all();
    return 0;
}

void hz3_large_cache_make_room(size_t bytes)
{
    (void)bytes;
}

void hz3_large_cache_each_lock(void (*visit)(struct hz3_lock *lock))
{
    (void)visit; /* the page pool's is visited anyway */
}
