#include "front/exchange.h"

#include "base/sizeclass.h"
#include "front/outgoing.h"
#include "front/refill.h"
#include "front/spares.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include "os/gate.h"

enum { PER_SLOW_CALL = 32 }; /* one exchange in so many takes the slow path, and looks what reclaim has to do */

static bool has_all_room(const struct hz3_cache *cache, unsigned cls)
{
    return cache->capacity[cls] == hz3_class_info[cls].load;
}

/* Not in a thread that has left, which has its room still, but nobody to take what it loads.  And while a thread forks,
 * others change as little as they can. */
HZ3_INLINE bool may_exchange(struct hz3_cache *cache, unsigned cls, uint8_t *turn)
{
    if (hz3_thread.state != HZ3_THREAD_JOINED || !has_all_room(cache, cls)) return false;
    if (unlikely(++*turn % PER_SLOW_CALL == 0)) {
        hz3_thread.due = true;
        return false;
    }
    return hz3_gate_is_open();
}

/* A swap that counts as a miss, and may earn room, takes the slow path. */
HZ3_INLINE bool may_swap(const struct hz3_cache *cache, unsigned cls, void **full)
{
    return hz3_cache_is_roomy(cache, cls, full) &&
           (has_all_room(cache, cls) || (cache->stats.swap + 1) % HZ3_SWAPS_PER_MISS);
}

HZ3_INLINE void *load_and_pop(struct hz3_cache *cache, unsigned cls, void **top)
{
    cache->missed[cls] = true;
    cache->counted[cls] = (int8_t)hz3_magazine_filled(top);
    cache->top[cls] = top - 1;
    return *top;
}

HZ3_INLINE void *malloc_by_swap(struct hz3_cache *cache, unsigned cls, void **full)
{
    if (!may_swap(cache, cls, full)) return NULL;
    cache->stats.swap++;
    cache->previous[cls] = cache->top[cls];
    return load_and_pop(cache, cls, full);
}

HZ3_INLINE void *malloc_of_shared(struct hz3_cache *cache, unsigned cls)
{
    if (!may_exchange(cache, cls, &cache->loads)) return NULL;
    struct hz3_magazine *magazine = hz3_owner_stash_pop(cache->owner, cls);
    if (magazine)
        cache->stats.stash++;
    else if ((magazine = hz3_transfer_pop(cls)))
        cache->stats.transfer++;
    else
        return NULL;
    hz3_refill_load(cache, cls, magazine);
    return load_and_pop(cache, cls, cache->top[cls]);
}

/* The end of an exchange that calls others: apart, so that a swap is a leaf, which saves no register. */
static HZ3_NOINLINE void *malloc_of_shared_inside(unsigned cls)
{
    void *p = malloc_of_shared(&hz3_thread.cache, cls);
    hz3_thread_go_outside(&hz3_thread);
    return p;
}

void *hz3_exchange_malloc(unsigned cls)
{
    struct hz3_thread *self = &hz3_thread;
    void *p = NULL;
    if (!hz3_thread_go_inside_at_once(self)) return NULL;
    if (likely(hz3_is_empty(self->cache.top[cls]))) {
        void **previous = self->cache.previous[cls];
        self->cache.freed_only[cls] = false;
        hz3_thread_count_empty(self, cls);
        if (hz3_is_empty(previous)) return malloc_of_shared_inside(cls);
        p = malloc_by_swap(&self->cache, cls, previous);
    }
    hz3_thread_go_outside(self);
    return p;
}

/* An empty magazine, if there is one without a lock. */
HZ3_INLINE struct hz3_magazine *get_empty(struct hz3_cache *cache, unsigned cls)
{
    if (unlikely(!cache->spare)) hz3_spares_take(cache, hz3_magazine_get_ready_bundle(cls));
    return cache->spare ? hz3_spares_get(cache, cls) : NULL;
}

/* Sends a full magazine to where the class's last one went, and returns an empty one; or NULL. */
HZ3_INLINE struct hz3_magazine *send(struct hz3_cache *cache, unsigned cls, void **full)
{
    bool usual = cache->route[cls] && hz3_is_full(full) && hz3_cache_is_roomy(cache, cls, full);
    struct hz3_magazine *empty = usual && may_exchange(cache, cls, &cache->sends) ? get_empty(cache, cls) : NULL;
    if (!empty) return NULL;
    int owner = cache->route[cls] - 2;
    struct hz3_magazine *magazine = hz3_magazine_close(full);
    bool sent = owner == HZ3_NO_OWNER ? hz3_transfer_push(cls, magazine) : hz3_outgoing_send(owner, cls, magazine);
    if (unlikely(!sent)) {
        hz3_spares_put(cache, cls, empty);
        return NULL;
    }
    cache->stats.overflow++;
    cache->missed[cls] = true;
    return empty;
}

/* A thread that only frees keeps no full magazine. */
static HZ3_NOINLINE bool let_previous_go(struct hz3_cache *cache, unsigned cls, void **previous)
{
    struct hz3_magazine *empty = send(cache, cls, previous);
    if (!empty) return false;
    hz3_spares_put(cache, cls, empty);
    cache->previous[cls] = HZ3_STUB_TOP;
    return true;
}

/* An empty magazine to load in place of the full one, which becomes the previous one or is sent; or NULL. */
HZ3_INLINE struct hz3_magazine *replace(struct hz3_cache *cache, unsigned cls, void **full, void **previous)
{
    bool none = hz3_is_stub(previous);
    if (cache->freed_only[cls]) return none || let_previous_go(cache, cls, previous) ? send(cache, cls, full) : NULL;
    struct hz3_magazine *empty = none ? NULL : send(cache, cls, previous);
    if (!empty) return NULL;
    cache->freed_only[cls] = true;
    cache->previous[cls] = full;
    return empty;
}

HZ3_INLINE void load_and_push(struct hz3_cache *cache, unsigned cls, struct hz3_magazine *empty, void *p)
{
    void **top = hz3_cache_open(cache, cls, empty);
    cache->counted[cls] = 0;
    *++top = p;
    cache->top[cls] = top;
}

static HZ3_NOINLINE bool free_to_shared_inside(void *p, unsigned cls)
{
    struct hz3_cache *cache = &hz3_thread.cache;
    struct hz3_magazine *empty = replace(cache, cls, cache->top[cls], cache->previous[cls]);
    if (likely(empty != NULL)) load_and_push(cache, cls, empty, p);
    hz3_thread_go_outside(&hz3_thread);
    return empty;
}

bool hz3_exchange_free(void *p, unsigned cls)
{
    struct hz3_thread *self = &hz3_thread;
    void **full = self->cache.top[cls];
    if (!hz3_is_full(full) || hz3_is_stub(full) || !hz3_thread_go_inside_at_once(self)) return false;
    hz3_thread_count_full(self, cls);
    void **previous = self->cache.previous[cls];
    if (!hz3_is_empty(previous) || hz3_is_stub(previous)) return free_to_shared_inside(p, cls);
    self->cache.previous[cls] = full;
    load_and_push(&self->cache, cls, hz3_magazine_of(previous), p);
    hz3_thread_go_outside(self);
    return true;
}
