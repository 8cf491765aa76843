#include "front/refill.h"

#include "back/limits.h"
#include "base/sizeclass.h"
#include "front/orphans.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"

/* Replaces the stub by an empty magazine. */
static bool have_magazine(struct hz3_thread *self, unsigned cls)
{
    void **top = self->cache.top[cls];
    struct hz3_magazine *magazine = hz3_is_stub(top) ? hz3_spares_get(&self->cache, cls) : hz3_magazine_of(top);
    if (magazine) self->cache.top[cls] = hz3_cache_open(&self->cache, cls, magazine);
    return magazine;
}

/* Puts n objects into the empty loaded magazine; malloc will take the first one first. */
static void fill(struct hz3_thread *self, unsigned cls, void **objects, unsigned n)
{
    while (n) *++self->cache.top[cls] = objects[--n];
}

/* Takes up to `want` objects that other threads left for this heap, or, to steal, for any heap. */
static unsigned take_linked(struct hz3_thread *self, unsigned cls, void **objects, unsigned want, bool steal)
{
    return steal ? hz3_owner_stash_steal_batch(cls, objects, want)
                 : hz3_owner_stash_pop_batch(self->cache.owner, cls, objects, want);
}

/* Refills the loaded magazine from the owner stash. */
static bool take_from_stash(struct hz3_thread *self, unsigned cls, bool steal)
{
    if (!HZ3_STASH_POPS) return false;
    if (HZ3_S44_TRANSPORT_LIST) {
        void *objects[HZ3_MAGAZINE_LAST];
        unsigned n;
        if (!have_magazine(self, cls) || !(n = take_linked(self, cls, objects, self->cache.capacity[cls], steal)))
            return false;
        fill(self, cls, objects, n);
        return true;
    }
    struct hz3_magazine *magazine =
        steal ? hz3_owner_stash_steal_magazine(cls) : hz3_owner_stash_pop_magazine(self->cache.owner, cls);
    if (!magazine) return false;
    hz3_refill_load(&self->cache, cls, magazine);
    return true;
}

/* Loads a whole magazine from the transfer cache, or from what a fork left behind. */
static bool take_whole(struct hz3_thread *self, unsigned cls)
{
    struct hz3_magazine *magazine = hz3_transfer_pop(cls);
    if (!magazine) magazine = hz3_orphans_pop(cls);
    if (!magazine) return false;
    self->cache.stats.transfer++;
    hz3_refill_load(&self->cache, cls, magazine);
    return true;
}

/* Fills the loaded magazine from runs; `fresh`: from a new one if need be. */
static bool carve(struct hz3_thread *self, unsigned cls, bool fresh)
{
    void *objects[HZ3_MAGAZINE_LAST];
    enum hz3_refill_source source;
    if (!have_magazine(self, cls)) return false;
    unsigned got = hz3_central_refill(self->heap, cls, objects, self->cache.capacity[cls], fresh, &source);
    fill(self, cls, objects, got);
    self->cache.stats.held += source == HZ3_REFILL_HELD;
    self->cache.stats.central += source == HZ3_REFILL_CENTRAL;
    self->cache.stats.fresh += source == HZ3_REFILL_FRESH || source == HZ3_REFILL_GROWN;
    if (source == HZ3_REFILL_GROWN) {
        self->cache.grown += (size_t)hz3_class_info[cls].granules << HZ3_GRANULE_SHIFT;
        if (hz3_pages_above_limit()) self->due = true; /* else it would take fifteen more runs first */
    }
    return got;
}

bool hz3_refill_during_fork(struct hz3_thread *self, unsigned cls)
{
    struct hz3_magazine *magazine = hz3_transfer_pop(cls);
    if (magazine) hz3_refill_load(&self->cache, cls, magazine);
    return magazine;
}

/* Each source is read before it is written, so that empty ones cost little. */
bool hz3_refill(struct hz3_thread *self, unsigned cls)
{
    if (take_from_stash(self, cls, false)) {
        self->cache.stats.stash++;
        return true;
    }
    if (take_whole(self, cls) || carve(self, cls, false)) return true;
    if (take_from_stash(self, cls, true)) {
        self->cache.stats.stolen++;
        return true;
    }
    return carve(self, cls, true);
}
