#include "front/refill.h"

#include "back/limits.h"
#include "base/sizeclass.h"
#include "front/budget.h"
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

/* Fills the loaded magazine from runs; `fresh`: from a new one if need be. */
static bool carve(struct hz3_thread *self, unsigned cls, bool fresh)
{
    void *objects[HZ3_MAGAZINE_LAST];
    enum hz3_refill_source source;
    if (!have_magazine(self, cls)) return false;
    unsigned got = hz3_central_refill(self->heap, cls, objects, self->cache.capacity[cls], fresh, &source);
    void **top = self->cache.top[cls];
    for (unsigned n = got; n; n--) *++top = objects[n - 1]; /* malloc will take the first one first */
    self->cache.top[cls] = top;
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
    struct hz3_magazine *magazine;
    if ((magazine = hz3_owner_stash_pop(self->cache.owner, cls)))
        self->cache.stats.stash++;
    else if ((magazine = hz3_transfer_pop(cls)) || (hz3_get(hz3_orphans_waiting) && (magazine = hz3_orphans_pop(cls))))
        self->cache.stats.transfer++;
    else if (carve(self, cls, false))
        return true;
    else if ((magazine = hz3_owner_stash_steal(cls)))
        self->cache.stats.stolen++;
    else
        return carve(self, cls, true);
    hz3_refill_load(&self->cache, cls, magazine);
    hz3_budget_earn_store(self, cls);
    return true;
}
