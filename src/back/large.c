#include "back/large.h"

#include "back/limits.h"
#include "back/pages.h"
#include "back/large_cache.h"
#include "back/purge.h"
#include "back/range.h"
#include "base/check.h"
#include "base/layout.h"
#include "os/thread_random.h"

#include <string.h>

HZ3_ATOMIC(size_t) hz3_large_blocks, hz3_large_bytes;

enum {
    MOVE_MIN = 512 << 10, /* bytes from which moving pages beats copying them */
    PART = 2 << 20,       /* cleared or purged as a whole: a huge page.  Less is cleared without a look. */
    LOOK = 256 << 10,
    FEW = 4, /* pages are less than this share: a page fault takes four to eight times as long as clearing a page */
};

static size_t granules_of(size_t size)
{
    return (size + HZ3_GRANULE - 1) >> HZ3_GRANULE_SHIFT;
}

size_t hz3_large_granules(size_t size)
{
    return hz3_max(granules_of(size), 1);
}

void hz3_large_begin(struct hz3_span *span, size_t size)
{
    span->bytes = hz3_round_up(hz3_max(size, 1), hz3_os.page);
    hz3_add(hz3_large_blocks, 1);
    hz3_add(hz3_large_bytes, span->bytes);
    hz3_set(span->freed, false);
    hz3_set(span->sample, 0);
    hz3_map_tag(span->start, 1, HZ3_CLASS_LARGE, 0);
}

void hz3_large_end(struct hz3_span *span)
{
    hz3_sub(hz3_large_blocks, 1);
    hz3_sub(hz3_large_bytes, span->bytes);
    if (hz3_exchange(span->freed, true, memory_order_relaxed)) hz3_misuse("double free", (void *)span->start);
}

/* The pages behind the block, which nobody can use, may hold what they held before.  Not where there is a limit. */
static void purge_rest(const struct hz3_span *span)
{
    size_t rest = hz3_span_bytes(span) - span->bytes;
    if (unlikely(rest && !span->zeroed && hz3_pages_near_limit())) hz3_range_purge(span->start + span->bytes, rest);
}

/* Before fresh pages are taken, blocks that wait whole yield theirs. */
static struct hz3_span *from_pool(size_t granules, size_t align)
{
    if (hz3_gauge(HZ3_GAUGE_LARGE_CACHED) >= granules << HZ3_GRANULE_SHIFT) {
        struct hz3_span *span = hz3_pages_alloc_dirty(granules, align);
        if (span) return span;
        hz3_large_cache_yield();
    }
    return hz3_pages_alloc(granules, align, HZ3_SPAN_LARGE);
}

static struct hz3_span *new_block(size_t size, size_t alignment)
{
    size_t align = hz3_max(alignment >> HZ3_GRANULE_SHIFT, 1), granules = hz3_large_granules(size);
    if (granules + align > INT32_MAX) return NULL;
    struct hz3_span *span = hz3_large_cache_take(granules, align);
    bool cached = span; /* then a block of about this size lay here */
    if (!span) span = from_pool(granules, align);
    if (!span) return NULL;
    hz3_large_begin(span, size);
    if (!cached) purge_rest(span);
    return span;
}

/* ---- zeroes ---- */

/* Whether the page has anything but zeroes.  If it never was touched, reading it costs no memory. */
static bool is_written(const uint64_t *page)
{
    uint64_t any = 0;
    for (size_t line = 0; !any && line < hz3_os.page / sizeof any; line += 8)
        for (size_t i = 0; i < 8; i++) any |= page[line + i];
    return any;
}

/* Whether few pages were written, by a look at one in each LOOK bytes.  Which one that is is random, since programs
 * write at regular distances. */
static bool is_sparse(uintptr_t from, uintptr_t to)
{
    size_t looks = (to - from) / LOOK, many = (looks + FEW - 1) / FEW;
    for (size_t i = 0; i < looks && many; i++) {
        uintptr_t at = from + i * LOOK;
        at += hz3_random_mix(at) % (LOOK / hz3_os.page) * hz3_os.page;
        many -= is_written((const uint64_t *)at);
    }
    return many;
}

static void purge_or_clear(uintptr_t from, uintptr_t to)
{
    size_t bytes = to - from;
    if (bytes && !hz3_pages_zero(from, hz3_round_up(bytes, hz3_os.page))) memset((void *)from, 0, bytes);
}

/* Parts of which much was written are cleared: much of them is likely to be written again, and a page fault costs more
 * than clearing a page.  The rest is purged, since clearing would touch all of it. */
static void clear(struct hz3_span *span, size_t size)
{
    uintptr_t from = span->start, end = from + size; /* [from, at) is sparse */
    for (uintptr_t at = from, next; at < end; at = next) {
        next = size < PART ? end : hz3_min(hz3_round_up(at + 1, PART), end);
        if (size >= PART && is_sparse(at, next)) continue;
        purge_or_clear(from, at);
        memset((void *)at, 0, next - at);
        from = next;
    }
    purge_or_clear(from, end);
}

void hz3_large_zero(void *p, size_t size)
{
    struct hz3_span *span = hz3_span_at(p);
    if (!span->zeroed) clear(span, size);
}

void *hz3_large_alloc(size_t size, size_t alignment)
{
    struct hz3_span *span = new_block(size, alignment);
    return span ? (void *)span->start : NULL;
}

size_t hz3_large_fresh(const void *p)
{
    const struct hz3_span *span = hz3_span_at(p);
    return span->zeroed ? hz3_span_bytes(span) : 0;
}

bool hz3_large_is_block(const void *p)
{
    return hz3_span_at(p)->start == (uintptr_t)p;
}

bool hz3_large_is_live(const void *p)
{
    return !hz3_get(hz3_span_at(p)->freed);
}

HZ3_RACY bool hz3_large_covers(const void *p)
{
    const struct hz3_window *window = hz3_window_of(p);
    size_t granule = hz3_granule_of(window, p);
    if (granule >= window->spans_mapped) return false;
    while (granule && window->spans[granule].kind == HZ3_SPAN_NONE) granule--;
    const struct hz3_span *span = &window->spans[granule];
    return span->kind == HZ3_SPAN_LARGE && !hz3_get(span->freed) && (uintptr_t)p - span->start < hz3_span_bytes(span);
}

void hz3_large_free(void *p)
{
    struct hz3_span *span = hz3_span_at(p);
    hz3_large_end(span);
    hz3_large_cache_put(span);
}

void hz3_large_set_usable(const void *p, size_t bytes)
{
    struct hz3_span *span = hz3_span_at(p);
    hz3_add(hz3_large_bytes, bytes - span->bytes);
    span->bytes = bytes;
}

void hz3_large_set_sample(const void *p, uint32_t sample)
{
    hz3_set(hz3_span_at(p)->sample, sample);
}

uint32_t hz3_large_take_sample(const void *p)
{
    struct hz3_span *span = hz3_span_at(p);
    return unlikely(hz3_get(span->sample)) ? hz3_exchange(span->sample, 0, memory_order_relaxed) : 0;
}

size_t hz3_large_usable(const void *p)
{
    return hz3_span_at(p)->bytes;
}

void *hz3_large_realloc(void *p, size_t size)
{
    struct hz3_span *span = hz3_span_at(p);
    size_t granules = granules_of(size), bytes = hz3_round_up(size, hz3_os.page);
    if (granules < span->granules) hz3_large_cache_shrink(span, granules);
    bool fits = granules <= span->granules || hz3_pages_grow(span, granules, false);
    bool moves = !fits && span->bytes >= MOVE_MIN && hz3_pages_may_move(span);
    struct hz3_span *to = moves ? new_block(size, 1) : NULL;
    if (!to) {
        if (!fits && !hz3_pages_grow(span, granules, true)) return NULL;
        hz3_add(hz3_large_bytes, bytes - span->bytes);
        span->bytes = bytes;
        return p;
    }
    size_t old = span->bytes, new = to->bytes;
    uintptr_t start = to->start;
    if (hz3_exchange(span->freed, true, memory_order_relaxed)) hz3_misuse("double free", p);
    bool moved = hz3_pages_move(to, span);
    if (!moved) hz3_set(span->freed, false);
    hz3_sub(hz3_large_blocks, 1);
    hz3_sub(hz3_large_bytes, moved ? old : new);
    return moved ? (void *)start : NULL;
}

const struct hz3_place hz3_large_places[] = {
    HZ3_PLACE("large_bytes", hz3_large_bytes),
    HZ3_PLACES_END,
};
