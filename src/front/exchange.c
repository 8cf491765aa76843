#include "front/exchange.h"

#include "base/sizeclass.h"
#include "front/outgoing.h"
#include "front/refill.h"
#include "front/spares.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include "os/gate.h"

enum {
    PER_SLOW_CALL = 32, /* one exchange in so many takes the slow path */
    PER_VISIT = 16,     /* after so many it is time to look what reclaim has to do */
};

static bool has_all_room(const struct hz3_cache *cache, unsigned cls)
{
    return cache->capacity[cls] == hz3_class_info[cls].load;
}

/* Not in a thread that has left, which has its room still, but nobody to take what it loads.  And while a thread forks,
 * others change as little as they can. */
static bool may_exchange(struct hz3_cache *cache, unsigned cls, uint8_t *turn)
{
    if (hz3_thread.state != HZ3_THREAD_JOINED || !has_all_room(cache, cls)) return false;
    hz3_thread.due |= ++*turn % PER_VISIT == 0;
    return *turn % PER_SLOW_CALL && hz3_gate_is_open();
}

/* A swap that counts as a miss, and may earn room, takes the slow path. */
static bool may_swap(const struct hz3_cache *cache, unsigned cls, void **full)
{
    return hz3_cache_is_roomy(cache, cls, full) &&
           (has_all_room(cache, cls) || (cache->stats.swap + 1) % HZ3_SWAPS_PER_MISS);
}

static void *pop(struct hz3_cache *cache, unsigned cls)
{
    hz3_cache_recount(cache, cls);
    return *cache->top[cls]--;
}

static bool load_shared(struct hz3_thread *self, unsigned cls)
{
    if (!may_exchange(&self->cache, cls, &self->cache.loads)) return false;
    struct hz3_magazine *magazine = hz3_owner_stash_pop(self->cache.owner, cls);
    self->cache.stats.stash += magazine != NULL;
    if (!magazine) {
        magazine = hz3_transfer_pop(cls);
        self->cache.stats.transfer += magazine != NULL;
    }
    if (magazine) hz3_refill_load(&self->cache, cls, magazine);
    self->cache.missed[cls] |= magazine != NULL;
    return magazine;
}

void *hz3_exchange_malloc(unsigned cls)
{
    struct hz3_thread *self = &hz3_thread;
    if (!hz3_is_empty(self->cache.top[cls])) return NULL;
    self->cache.freed_only[cls] = false;
    hz3_thread_go_inside(self);
    hz3_thread_count(self, cls);
    void **empty = self->cache.top[cls], **full = self->cache.previous[cls], *p = NULL;
    if (!hz3_is_empty(empty)) {
        p = pop(&self->cache, cls); /* a visitor put it back */
    } else if (hz3_is_empty(full)) {
        if (load_shared(self, cls)) p = pop(&self->cache, cls);
    } else if (may_swap(&self->cache, cls, full)) {
        self->cache.stats.swap++;
        self->cache.missed[cls] = true;
        self->cache.previous[cls] = empty;
        self->cache.top[cls] = full;
        p = pop(&self->cache, cls);
    }
    hz3_thread_go_outside(self);
    return p;
}

/* An empty magazine, if there is one without a lock. */
static struct hz3_magazine *get_empty(struct hz3_cache *cache, unsigned cls)
{
    if (!cache->spare) hz3_spares_take(cache, hz3_magazine_get_ready_bundle(cls));
    return cache->spare ? hz3_spares_get(cache, cls) : NULL;
}

/* Sends a full magazine to where the class's last one went, and returns an empty one; or NULL. */
static struct hz3_magazine *send(struct hz3_cache *cache, unsigned cls, void **full)
{
    bool usual = cache->route[cls] && hz3_is_full(full) && hz3_cache_is_roomy(cache, cls, full);
    struct hz3_magazine *empty = usual && may_exchange(cache, cls, &cache->sends) ? get_empty(cache, cls) : NULL;
    if (!empty) return NULL;
    if (!hz3_outgoing_send(cache->route[cls] - 2, cls, hz3_magazine_close(full))) {
        hz3_spares_put(cache, cls, empty);
        return NULL;
    }
    cache->stats.overflow++;
    cache->missed[cls] = true;
    return empty;
}

/* A thread that only frees keeps no full magazine. */
static void let_previous_go(struct hz3_cache *cache, unsigned cls)
{
    struct hz3_magazine *empty = send(cache, cls, cache->previous[cls]);
    if (!empty) return;
    hz3_spares_put(cache, cls, empty);
    cache->previous[cls] = HZ3_STUB_TOP;
}

/* An empty magazine to load in place of the full one, which becomes the previous one or is sent; or NULL. */
static struct hz3_magazine *replace(struct hz3_cache *cache, unsigned cls, void **full)
{
    bool swap = hz3_is_empty(cache->previous[cls]), only = cache->freed_only[cls];
    if (only && !swap) let_previous_go(cache, cls);
    void **previous = cache->previous[cls];
    if (hz3_is_stub(previous)) return only ? send(cache, cls, full) : NULL;
    if (only && !swap) return NULL;
    struct hz3_magazine *empty = swap ? hz3_magazine_of(previous) : send(cache, cls, previous);
    if (!empty) return NULL;
    cache->freed_only[cls] = only || !swap;
    cache->previous[cls] = full;
    return empty;
}

bool hz3_exchange_free(void *p, unsigned cls)
{
    struct hz3_thread *self = &hz3_thread;
    void **full = self->cache.top[cls];
    if (!hz3_is_full(full) || hz3_is_stub(full)) return false;
    hz3_thread_go_inside(self);
    hz3_thread_count(self, cls);
    struct hz3_magazine *empty = replace(&self->cache, cls, full);
    if (empty) {
        void **top = hz3_cache_open(&self->cache, cls, empty);
        self->cache.counted[cls] = 0;
        *++top = p;
        self->cache.top[cls] = top;
    }
    hz3_thread_go_outside(self);
    return empty;
}
