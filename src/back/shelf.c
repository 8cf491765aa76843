#include "back/shelf.h"

#include "back/pages.h"
#include "base/check.h"

enum {
    SHELVES = 64,
    SLOTS = 16,
    SHARE = 4, /* of HZ3_RETAIN: the most that all shelves hold is a fourth */
    SLACK = 8, /* of a request: how much larger a block may be that serves it */
};

/* All under the lock.  Empty slots have no granules. */
static struct shelf {
    struct hz3_lock lock;
    struct slot {
        struct hz3_span *span;
        uint32_t granules, since;
    } slots[SLOTS];
} HZ3_CACHE_ALIGNED shelves[SHELVES];

/* Those in use. */
static unsigned shelf_count(void)
{
    return (unsigned)hz3_min(2 * hz3_os.cpus, SHELVES);
}

static unsigned my_shelf(void)
{
    return hz3_lock_self() / 2 % shelf_count();
}

/* Empties the slot; NULL where it was empty. */
static struct hz3_span *clear(struct slot *slot)
{
    struct hz3_span *span = slot->span;
    *slot = (struct slot){0};
    if (span) hz3_sub(hz3_pages_stats.shelved, hz3_span_bytes(span));
    return span;
}

static struct hz3_span *find(struct shelf *shelf, size_t granules, size_t align)
{
    struct slot *best = NULL;
    for (struct slot *slot = shelf->slots; slot < shelf->slots + SLOTS; slot++) {
        bool fits = slot->granules >= granules && slot->granules - granules <= granules / SLACK;
        if (fits && (!best || slot->granules < best->granules) && slot->span->start % (align << HZ3_GRANULE_SHIFT) == 0)
            best = slot;
    }
    return best ? clear(best) : NULL;
}

struct hz3_span *hz3_shelf_take(size_t granules, size_t align)
{
    struct hz3_span *span = NULL;
    unsigned count = shelf_count(), mine = my_shelf();
    for (unsigned i = 0; i < count && !span && hz3_get(hz3_pages_stats.shelved); i++) {
        struct shelf *shelf = &shelves[(mine + i) % count];
        if (i == 0)
            hz3_lock(&shelf->lock);
        else if (!hz3_trylock(&shelf->lock))
            continue;
        span = find(shelf, granules, align);
        hz3_unlock(&shelf->lock);
    }
    return span;
}

/* Several threads may pass at the bound: each adds one. */
static bool has_room(size_t bytes)
{
    size_t retained = hz3_get(hz3_pages_dirty_max), after = hz3_get(hz3_pages_stats.shelved) + bytes;
    return after <= retained / SHARE && after + hz3_get(hz3_pages_stats.dirty) <= retained;
}

void hz3_shelf_put(struct hz3_span *span)
{
    if (hz3_exchange(span->freed, true, memory_order_relaxed)) hz3_crime("double free", (void *)span->start);
    if (hz3_pages_pressed()) hz3_shelf_trim(0, true);
    if (hz3_pages_pressed() || !has_room(hz3_span_bytes(span))) {
        hz3_pages_free(span);
        return;
    }
    span->zeroed = false;
    struct shelf *shelf = &shelves[my_shelf()];
    hz3_lock(&shelf->lock);
    uint32_t now = (uint32_t)hz3_os_now_ms();
    struct slot *oldest = shelf->slots;
    for (struct slot *slot = oldest; oldest->span && slot < shelf->slots + SLOTS; slot++)
        if (!slot->span || now - slot->since > now - oldest->since) oldest = slot;
    struct hz3_span *displaced = clear(oldest);
    *oldest = (struct slot){span, span->granules, now};
    hz3_add(hz3_pages_stats.shelved, hz3_span_bytes(span));
    hz3_unlock(&shelf->lock);
    if (displaced) hz3_pages_free(displaced);
}

size_t hz3_shelf_trim(uint32_t age, bool break_huge_pages)
{
    size_t purged = 0;
    for (unsigned i = 0; i < shelf_count() * SLOTS && hz3_get(hz3_pages_stats.shelved); i++) {
        struct shelf *shelf = &shelves[i / SLOTS];
        struct slot *slot = &shelf->slots[i % SLOTS];
        hz3_lock(&shelf->lock);
        bool old = slot->span && (uint32_t)hz3_os_now_ms() - slot->since >= age;
        struct hz3_span *span = old ? clear(slot) : NULL;
        hz3_unlock(&shelf->lock);
        if (span) purged += hz3_pages_discard(span, break_huge_pages);
    }
    return purged;
}

void hz3_shelf_each_lock(void (*visit)(struct hz3_lock *lock))
{
    for (unsigned i = 0; i < shelf_count(); i++) visit(&shelves[i].lock);
}
