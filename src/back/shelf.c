#include "back/shelf.h"

#include "back/pages.h"

enum {
    SHELVES = 64,
    SLOTS = 16,
    SHARE = 4, /* of HZ3_RETAIN: the most that all shelves hold is a fourth */
};

static struct shelf {
    struct hz3_lock lock;
    struct slot {
        struct hz3_span *span; /* NULL: empty, and granules are 0 */
        uint32_t granules, since;
    } slots[SLOTS];
} HZ3_CACHE_ALIGNED shelves[SHELVES];

static size_t bytes_of(const struct hz3_span *span)
{
    return (size_t)span->granules << HZ3_GRANULE_SHIFT;
}

static struct shelf *my_shelf(void)
{
    return &shelves[hz3_lock_self() / 2 % hz3_min(2 * hz3_os.cpus, SHELVES)];
}

/* Empties the slot, whose shelf is locked; NULL where it was empty. */
static struct hz3_span *clear(struct slot *slot)
{
    struct hz3_span *span = slot->span;
    *slot = (struct slot){0};
    if (span) {
        span->shelved = false;
        hz3_sub(hz3_pages_stats.shelved, bytes_of(span));
    }
    return span;
}

struct hz3_span *hz3_shelf_take(size_t granules)
{
    if (!hz3_get(hz3_pages_stats.shelved)) return NULL;
    struct shelf *shelf = my_shelf();
    struct hz3_span *span = NULL;
    hz3_lock(&shelf->lock);
    struct slot *best = NULL;
    for (struct slot *slot = shelf->slots; slot < shelf->slots + SLOTS; slot++)
        if (slot->granules >= granules && (!best || slot->granules < best->granules)) best = slot;
    if (best && best->granules - granules <= granules / 4) span = clear(best);
    hz3_unlock(&shelf->lock);
    return span;
}

void hz3_shelf_put(struct hz3_span *span)
{
    size_t most = hz3_pages_pressed() ? 0 : hz3_get(hz3_pages_dirty_max) / SHARE;
    if (hz3_get(hz3_pages_stats.shelved) + bytes_of(span) > most) {
        hz3_pages_free(span);
        return;
    }
    struct shelf *shelf = my_shelf();
    uint32_t now = (uint32_t)hz3_os_now_ms();
    hz3_lock(&shelf->lock);
    struct slot *oldest = shelf->slots;
    for (struct slot *slot = oldest; oldest->span && slot < shelf->slots + SLOTS; slot++)
        if (!slot->span || now - slot->since > now - oldest->since) oldest = slot;
    struct hz3_span *displaced = clear(oldest);
    *oldest = (struct slot){span, span->granules, now};
    span->shelved = true;
    hz3_add(hz3_pages_stats.shelved, bytes_of(span));
    hz3_unlock(&shelf->lock);
    if (displaced) hz3_pages_free(displaced);
}

void hz3_shelf_trim(uint32_t age)
{
    uint32_t now = (uint32_t)hz3_os_now_ms();
    for (unsigned i = 0; i < SHELVES * SLOTS && hz3_get(hz3_pages_stats.shelved); i++) {
        struct shelf *shelf = &shelves[i / SLOTS];
        struct slot *slot = &shelf->slots[i % SLOTS];
        hz3_lock(&shelf->lock);
        struct hz3_span *span = slot->span && (int32_t)(now - slot->since) >= (int32_t)age ? clear(slot) : NULL;
        hz3_unlock(&shelf->lock);
        if (span) hz3_pages_free(span);
    }
}

void hz3_shelf_each_lock(void (*visit)(struct hz3_lock *lock))
{
    for (int i = 0; i < SHELVES; i++) visit(&shelves[i].lock);
}
