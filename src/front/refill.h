/* Refill: where a malloc looks when both magazines of its class are empty.  In this order: what others left for this
 * heap, a whole magazine, a run with room, what waits for other owners, a new run. */
#ifndef HZ3_FRONT_REFILL_H
#define HZ3_FRONT_REFILL_H

#include "front/spares.h"

/* Loads a magazine from elsewhere, which is closed and not empty; the empty loaded one becomes the previous. */
HZ3_INLINE void hz3_refill_load(struct hz3_cache *cache, unsigned cls, struct hz3_magazine *magazine)
{
    void **previous = cache->previous[cls];
    hz3_magazine_prefetch(magazine);
    cache->previous[cls] = cache->top[cls];
    cache->top[cls] = &magazine->word[magazine->header.top];
    if (!hz3_is_stub(previous)) hz3_spares_put(cache, cls, hz3_magazine_of(previous));
}

/* Fills the loaded magazine of a class that has capacity, inside a slow path.  False: there is no memory. */
bool hz3_refill(struct hz3_thread *self, unsigned cls);
/* The same without a lock.  False: there is nothing without one. */
bool hz3_refill_during_fork(struct hz3_thread *self, unsigned cls);
#endif
