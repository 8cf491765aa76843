#include "front/exchange.h"

#include "base/sizeclass.h"
#include "front/outgoing.h"
#include "front/refill.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include "os/gate.h"
#include HZ3_FREE_CHECK_H

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

/* Of `objects` in it. */
HZ3_INLINE void *load_and_pop(struct hz3_cache *cache, unsigned cls, void **top, unsigned objects)
{
    cache->missed[cls] = true;
    cache->counted[cls] = (int8_t)objects;
    cache->top[cls] = top - 1;
    return *top;
}

/* A class that stores takes the slow path with one in 256 of these, since programs may come to exchange nothing. */
HZ3_INLINE void *malloc_by_swap(struct hz3_thread *self, unsigned cls, void **full, unsigned objects)
{
    struct hz3_cache *cache = &self->cache;
    cache->freed_only[cls] = false;
    cache->counted[cls] = 0;
    self->due |= cache->stored[cls] > 0;
    if (cache->stored[cls] || !hz3_cache_is_roomy(cache, cls, full)) return NULL;
    /* A swap that counts as a miss, and may earn room, takes the slow path. */
    if (!has_all_room(cache, cls) && (cache->stats.swap + 1) % HZ3_SWAPS_PER_MISS == 0) return NULL;
    cache->stats.swap++;
    cache->previous[cls] = cache->top[cls];
    return load_and_pop(cache, cls, full, objects);
}

/* The empty magazine becomes a spare, and the next one stored the previous one. */
HZ3_INLINE void *malloc_of_store(struct hz3_cache *cache, unsigned cls, void **full, unsigned objects)
{
    cache->stats.swap++;
    hz3_spares_put(cache, cls, hz3_magazine_of(cache->top[cls]));
    hz3_magazine_prefetch(hz3_cache_take_stored(cache, cls, full));
    return load_and_pop(cache, cls, full, objects);
}

/* The end of an exchange that calls others: apart, so that a swap is a leaf, which saves no register. */
static HZ3_NOINLINE void *malloc_of_store_inside(unsigned cls)
{
    struct hz3_cache *cache = &hz3_thread.cache;
    void *p = malloc_of_store(cache, cls, cache->previous[cls], hz3_magazine_filled(cache->previous[cls]));
    hz3_thread_go_outside(&hz3_thread);
    return p;
}

/* What the class took at once: all but the first of the chain is stored. */
HZ3_INLINE void store_chain(struct hz3_cache *cache, unsigned cls, struct hz3_magazine *first, uint32_t magazines)
{
    if (magazines < 2) return;
    struct hz3_magazine *second = hz3_magazine_below(first);
    void **empty = cache->previous[cls];
    cache->previous[cls] = &second->word[second->header.top];
    cache->stored[cls] = (uint8_t)(magazines - 2);
    if (!hz3_is_stub(empty)) hz3_spares_put(cache, cls, hz3_magazine_of(empty));
}

HZ3_INLINE void *malloc_of_shared(struct hz3_cache *cache, unsigned cls)
{
    cache->freed_only[cls] = false;
    if (!may_exchange(cache, cls, &cache->loads)) return NULL;
    uint32_t magazines = hz3_max(cache->store[cls], (uint8_t)1);
    struct hz3_magazine *magazine = hz3_owner_stash_pop_chain(cache->owner, cls, &magazines);
    if (magazine)
        cache->stats.stash++;
    else if ((magazine = hz3_transfer_pop_chain(cls, &magazines)))
        cache->stats.transfer++;
    else
        return NULL;
    hz3_refill_load(cache, cls, magazine);
    store_chain(cache, cls, magazine, magazines);
    return load_and_pop(cache, cls, cache->top[cls], hz3_magazine_count(magazine));
}

static HZ3_NOINLINE void *malloc_of_shared_inside(unsigned cls)
{
    struct hz3_cache *cache = &hz3_thread.cache;
    cache->counted[cls] = 0;
    void *p = malloc_of_shared(cache, cls);
    hz3_thread_go_outside(&hz3_thread);
    return p;
}

void *hz3_exchange_malloc(unsigned cls)
{
    struct hz3_thread *self = &hz3_thread;
    struct hz3_cache *cache = &self->cache;
    void *p = NULL;
    if (!hz3_thread_go_inside_at_once(self)) return NULL;
    void **empty = cache->top[cls], **previous = cache->previous[cls];
    if (likely(hz3_is_empty(empty))) {
        hz3_thread_count_empty(self, cls);
        if (hz3_is_empty(previous)) return malloc_of_shared_inside(cls);
        unsigned objects = hz3_magazine_filled(previous);
        bool roomy = hz3_cache_is_roomy(cache, cls, previous);
        if (roomy && cache->stored[cls] && ++cache->unstored) {
            if (cache->spares == HZ3_SPARES_MAX) return malloc_of_store_inside(cls);
            p = malloc_of_store(cache, cls, previous, objects);
        } else {
            p = malloc_by_swap(self, cls, previous, objects);
        }
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

/* Where the class's last full magazine went, one more may go, and full ones usually are full of all the room. */
HZ3_INLINE bool may_send(struct hz3_cache *cache, unsigned cls, void **full)
{
    return cache->route[cls] && hz3_is_full(full) && hz3_cache_is_roomy(cache, cls, full) &&
           may_exchange(cache, cls, &cache->sends);
}

/* Sends a full magazine to where the class's last one went, and returns an empty one; or NULL. */
HZ3_INLINE struct hz3_magazine *send(struct hz3_cache *cache, unsigned cls, void **full)
{
    struct hz3_magazine *empty = may_send(cache, cls, full) ? get_empty(cache, cls) : NULL;
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

/* Sends the previous magazine and all that is stored: one more than a malloc takes at once, so that waves come to where
 * they fit. */
HZ3_INLINE bool send_previous(struct hz3_cache *cache, unsigned cls, void **previous)
{
    if (!may_send(cache, cls, cache->top[cls])) return false;
    uint32_t top = hz3_magazine_number(hz3_magazine_close(previous));
    struct hz3_stack_chain chain = {top, top, cache->stored[cls] + 1u};
    for (unsigned i = cache->stored[cls]; i > 0; i--) chain.bottom = hz3_get(*hz3_stack_link(chain.bottom));
    if (!hz3_outgoing_send_chain(cache->route[cls] - 2, cls, chain)) return false;
    cache->previous[cls] = HZ3_STUB_TOP;
    cache->stored[cls] = 0;
    cache->stats.overflow += chain.nodes;
    cache->missed[cls] = true;
    return true;
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

/* The same where the class stores some.  Even if there is none, there may be a change: a full magazine left. */
HZ3_INLINE struct hz3_magazine *replace_storing(struct hz3_cache *cache, unsigned cls, void **full, void **previous)
{
    bool room = cache->stored[cls] < cache->store[cls] || send_previous(cache, cls, previous);
    struct hz3_magazine *empty = room ? get_empty(cache, cls) : NULL;
    if (empty) hz3_cache_put_previous(cache, cls, full);
    return empty;
}

HZ3_INLINE void load_and_push(struct hz3_cache *cache, unsigned cls, struct hz3_magazine *empty, void *p)
{
    void **top = hz3_cache_open(cache, cls, empty);
    cache->counted[cls] = 0;
    *++top = p;
    cache->top[cls] = top;
    hz3_mark_freed(p, cls);
}

static HZ3_NOINLINE bool free_to_shared_inside(void *p, unsigned cls)
{
    struct hz3_cache *cache = &hz3_thread.cache;
    void **full = cache->top[cls], **previous = cache->previous[cls];
    bool stores = cache->store[cls] || cache->stored[cls];
    struct hz3_magazine *empty =
        stores ? replace_storing(cache, cls, full, previous) : replace(cache, cls, full, previous);
    if (likely(empty != NULL))
        load_and_push(cache, cls, empty, p);
    else
        hz3_cache_recount(cache, cls);
    hz3_thread_go_outside(&hz3_thread);
    return empty;
}

bool hz3_exchange_free(void *p, unsigned cls)
{
    struct hz3_thread *self = &hz3_thread;
    struct hz3_cache *cache = &self->cache;
    void **full = cache->top[cls];
    if (!hz3_is_full(full) || hz3_is_empty(full) || !hz3_thread_go_inside_at_once(self)) return false;
    void **previous = cache->previous[cls]; /* which a visitor may take from a thread that is outside */
    hz3_thread_count_full(self, cls, full);
    struct hz3_magazine *empty = hz3_magazine_of(previous);
    if (!hz3_is_empty(previous)) {
        if (cache->stored[cls] >= cache->store[cls] || !cache->spare) return free_to_shared_inside(p, cls);
        empty = hz3_spares_get(cache, cls);
        hz3_cache_store(cache, cls, previous, full);
    } else if (hz3_is_stub(previous)) {
        return free_to_shared_inside(p, cls);
    }
    cache->previous[cls] = full;
    load_and_push(cache, cls, empty, p);
    hz3_thread_go_outside(self);
    return true;
}
