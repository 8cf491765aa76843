#include "front/handoff.h"

#include "base/layout.h"
#include "os/lock.h"

static struct {
    bool taken, seen;  /* seen: reclaim has seen it; it empties the slot the next time */
    uint32_t claimant; /* the lock id of a thread, or 0 */
    struct hz3_cache cache;
} handoffs[HZ3_HANDOFFS];
/* A bit for each that is taken: a forked child reads no page of the others, each of which would cost it a fault. */
static HZ3_TOGETHER HZ3_CACHE_ALIGNED uint32_t taken;
_Static_assert(HZ3_HANDOFFS <= 32, "a bit for each");

bool hz3_handoff_leave(const struct hz3_cache *cache)
{
    unsigned handoff = cache->owner % HZ3_HANDOFFS;
    if (handoffs[handoff].taken) return false;
    handoffs[handoff].taken = true;
    taken |= 1u << handoff;
    handoffs[handoff].seen = false;
    handoffs[handoff].cache = *cache;
    return true;
}

bool hz3_handoff_take(struct hz3_cache *to, unsigned owner)
{
    const struct hz3_cache *cache = hz3_handoff_look(owner % HZ3_HANDOFFS);
    if (!cache || cache->owner != owner) return false;
    *to = *cache;
    hz3_handoff_vacate(owner % HZ3_HANDOFFS);
    return true;
}

struct hz3_cache *hz3_handoff_look(unsigned handoff)
{
    return handoffs[handoff].taken && !handoffs[handoff].claimant ? &handoffs[handoff].cache : NULL;
}

struct hz3_cache *hz3_handoff_claim(unsigned handoff, bool all)
{
    struct hz3_cache *cache = hz3_handoff_look(handoff);
    bool seen = handoffs[handoff].seen;
    handoffs[handoff].seen = true;
    if (!cache || !(seen || all)) return NULL;
    handoffs[handoff].claimant = hz3_lock_self();
    return cache;
}

void hz3_handoff_vacate(unsigned handoff)
{
    handoffs[handoff].taken = false;
    taken &= ~(1u << handoff);
    handoffs[handoff].claimant = 0;
}

void hz3_handoff_after_fork(bool whole)
{
    for (unsigned handoff = 0; handoff < HZ3_HANDOFFS; handoff++) {
        if (whole && !(taken >> handoff & 1)) continue;
        uint32_t claimant = handoffs[handoff].claimant;
        if (claimant ? claimant != hz3_lock_self() : !whole) hz3_handoff_vacate(handoff);
    }
}

const struct hz3_place hz3_handoff_places[] = {
    HZ3_NUMBER("handoffs", HZ3_HANDOFFS),           HZ3_PLACES("handoff", handoffs),
    HZ3_FIELD("handoff.taken", handoffs[0], taken), HZ3_FIELD("handoff.claimant", handoffs[0], claimant),
    HZ3_FIELD("handoff.cache", handoffs[0], cache), HZ3_PLACES_END,
};
