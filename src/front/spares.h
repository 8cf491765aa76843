/* Empty magazines that a thread keeps, so that most slow paths do not use the shared stacks. */
#pragma once

#include "front/thread.h"

enum { HZ3_SPARES_MAX = 16 };
/* Makes a bundle, or NULL, the spares of a thread that has none. */
void hz3_spares_take(struct hz3_cache *cache, struct hz3_magazine *bundle);
void hz3_spares_fetch(struct hz3_cache *cache, unsigned cls);
void hz3_spares_share(struct hz3_cache *cache, unsigned cls);

/* Takes an empty magazine from the thread's spares, or from the shared stacks.  NULL: no memory. */
HZ3_INLINE struct hz3_magazine *hz3_spares_get(struct hz3_cache *cache, unsigned cls)
{
    if (!cache->spare) hz3_spares_fetch(cache, cls);
    struct hz3_magazine *magazine = cache->spare;
    if (!magazine) return NULL;
    cache->spare = magazine->word[1];
    cache->spares--;
    return magazine;
}

/* Keeps an empty magazine as a spare; shares spares if there are too many. */
HZ3_INLINE void hz3_spares_put(struct hz3_cache *cache, unsigned cls, struct hz3_magazine *magazine)
{
    if (cache->spares == HZ3_SPARES_MAX) hz3_spares_share(cache, cls);
    magazine->word[1] = cache->spare;
    cache->spare = magazine;
    cache->spares++;
}
