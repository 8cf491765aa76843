#include "back/large_cache.h"

#include "back/gauges.h"
#include "back/limits.h"
#include "back/pages.h"
#include "back/purge.h"
#include "back/rent.h"

enum {
    SHARDS = 64,
    SLOTS = 16,
    SHARE = 8,          /* all shards together hold at most this share of what is in use, */
    LEAST = 4 << 20,    /* or so many bytes if that is more; */
    RETAINED_SHARE = 4, /* but at most this share of HZ3_RETAIN */
    SLACK = 8,          /* a block may be larger than the request by this share of it */
};

/* All of a shard is under its lock.  Empty slots have no granules. */
static struct shard {
    struct hz3_lock lock;
    struct slot {
        struct hz3_span *span;
        uint32_t granules, since;
    } slots[SLOTS];
} HZ3_CACHE_ALIGNED shards[SHARDS];

/* The number of shards in use. */
static unsigned shard_count(void)
{
    return (unsigned)hz3_min(2 * hz3_os.cpus, SHARDS);
}

static unsigned my_shard(void)
{
    return hz3_lock_self() / 2 % shard_count();
}

/* Empties the slot; returns its block, or NULL. */
static struct hz3_span *clear(struct slot *slot)
{
    struct hz3_span *span = slot->span;
    *slot = (struct slot){0};
    if (span) hz3_gauge_add(HZ3_GAUGE_LARGE_CACHED, -hz3_span_bytes(span));
    return span;
}

static struct hz3_span *find(struct shard *shard, size_t granules, size_t align)
{
    struct slot *best = NULL;
    for (struct slot *slot = shard->slots; slot < shard->slots + SLOTS; slot++) {
        bool fits = slot->granules >= granules && slot->granules - granules <= granules / SLACK;
        if (fits && (!best || slot->granules < best->granules) && slot->span->start % (align << HZ3_GRANULE_SHIFT) == 0)
            best = slot;
    }
    return best ? clear(best) : NULL;
}

struct hz3_span *hz3_large_cache_take(size_t granules, size_t align)
{
    struct hz3_span *span = NULL;
    unsigned count = shard_count(), mine = my_shard();
    for (unsigned i = 0; i < count && !span && hz3_gauge(HZ3_GAUGE_LARGE_CACHED); i++) {
        struct shard *shard = &shards[(mine + i) % count];
        if (i == 0)
            hz3_lock(&shard->lock);
        else if (!hz3_trylock(&shard->lock))
            continue;
        span = find(shard, granules, align);
        hz3_unlock(&shard->lock);
    }
    return span;
}

/* Several threads may see room for one block at the same time, and each add one. */
static bool has_room(size_t bytes)
{
    size_t retained = hz3_get(hz3_pages_dirty_max), after = hz3_gauge(HZ3_GAUGE_LARGE_CACHED) + bytes;
    size_t bound = hz3_min(hz3_max(hz3_gauge(HZ3_GAUGE_USED) / SHARE, (size_t)LEAST), retained / RETAINED_SHARE);
    return after <= bound && after + hz3_gauge(HZ3_GAUGE_DIRTY) <= retained;
}

void hz3_large_cache_put(struct hz3_span *span)
{
    if (hz3_pages_over_limit()) hz3_large_cache_trim(0, true);
    if (hz3_pages_over_limit() || !has_room(hz3_span_bytes(span))) {
        hz3_pages_free(span);
        return;
    }
    span->zeroed = false;
    struct shard *shard = &shards[my_shard()];
    hz3_lock(&shard->lock);
    uint32_t now = (uint32_t)hz3_os_now_ms();
    struct slot *oldest = shard->slots;
    for (struct slot *slot = oldest; oldest->span && slot < shard->slots + SLOTS; slot++)
        if (!slot->span || now - slot->since > now - oldest->since) oldest = slot;
    struct hz3_span *displaced = clear(oldest);
    *oldest = (struct slot){span, span->granules, now};
    hz3_gauge_add(HZ3_GAUGE_LARGE_CACHED, hz3_span_bytes(span));
    hz3_unlock(&shard->lock);
    if (displaced) hz3_pages_free(displaced);
}

void hz3_large_cache_shrink(struct hz3_span *span, size_t granules)
{
    hz3_pages_shrink(span, granules);
}

/* Purges blocks that have been here for `age` ms, until at most `keep` bytes are left; returns the bytes purged. */
static size_t trim(uint32_t age, size_t keep, bool break_huge_pages)
{
    size_t purged = 0;
    for (unsigned i = 0; i < shard_count() * SLOTS && hz3_gauge(HZ3_GAUGE_LARGE_CACHED) > keep; i++) {
        if (hz3_purge_is_cut(age)) break;
        struct shard *shard = &shards[i / SLOTS];
        struct slot *slot = &shard->slots[i % SLOTS];
        hz3_lock(&shard->lock);
        bool old = slot->span && (uint32_t)hz3_os_now_ms() - slot->since >= age;
        struct hz3_span *span = old ? clear(slot) : NULL;
        hz3_unlock(&shard->lock);
        if (span) purged += hz3_pages_discard(span, age, break_huge_pages);
    }
    return purged;
}

size_t hz3_large_cache_trim(uint32_t age, bool break_huge_pages)
{
    return trim(age, 0, break_huge_pages);
}

void hz3_large_cache_yield(void)
{
    for (unsigned i = 0; i < shard_count() * SLOTS && hz3_gauge(HZ3_GAUGE_LARGE_CACHED); i++) {
        struct shard *shard = &shards[i / SLOTS];
        hz3_lock(&shard->lock);
        struct hz3_span *span = clear(&shard->slots[i % SLOTS]);
        hz3_unlock(&shard->lock);
        if (span) hz3_pages_free(span);
    }
}

size_t hz3_large_cache_addresses(void)
{
    return 0;
}

void hz3_large_cache_make_room(size_t bytes)
{
    size_t cached = hz3_gauge(HZ3_GAUGE_LARGE_CACHED), keep = hz3_pages_growth_bound(cached);
    if (likely(cached <= keep) || hz3_pages_refused()) return;
    hz3_rent_purged(trim(0, hz3_max(keep, cached - hz3_min(bytes, cached)), true));
}

void hz3_large_cache_each_lock(void (*visit)(struct hz3_lock *lock))
{
    for (unsigned i = 0; i < shard_count(); i++) visit(&shards[i].lock);
}
