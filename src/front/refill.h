/* Refill: gets objects when both magazines of a class are empty.  In this order: the stash of the thread's heap, the
 * transfer cache, a run with room, the stashes of other heaps, a new run. */
#pragma once

#include "front/thread.h"

/* Loads a closed, not empty magazine from elsewhere.  The loaded one, which is empty, becomes the previous one. */
HZ3_INLINE void hz3_refill_load(struct hz3_cache *cache, unsigned cls, struct hz3_magazine *magazine)
{
    void **previous = cache->previous[cls];
    hz3_magazine_prefetch(magazine);
    cache->previous[cls] = cache->top[cls];
    cache->top[cls] = &magazine->word[magazine->header.top];
    if (!hz3_is_stub(previous)) hz3_spares_put(cache, cls, hz3_magazine_of(previous));
}

/* Fills the loaded magazine of a class that has capacity; call in a slow path, inside the gate.  False: no memory. */
bool hz3_refill(struct hz3_thread *self, unsigned cls);
/* Fills it without a lock, for a thread that the gate turned away.  False: there is nothing without one. */
bool hz3_refill_during_fork(struct hz3_thread *self, unsigned cls);
