#include "front/spares.h"

void hz3_spares_take(struct hz3_cache *cache, struct hz3_magazine *bundle)
{
    cache->spare = bundle;
    cache->spares = bundle ? bundle->header.top : 0;
}

void hz3_spares_fetch(struct hz3_cache *cache, unsigned cls)
{
    hz3_spares_take(cache, hz3_magazine_get_bundle(cls));
}

/* Gives half of the spares to the shared stacks. */
void hz3_spares_share(struct hz3_cache *cache, unsigned cls)
{
    struct hz3_magazine *bundle = cache->spare, *last = bundle;
    for (int i = 1; i < HZ3_SPARES_MAX / 2; i++) last = last->word[1];
    cache->spare = last->word[1];
    cache->spares -= HZ3_SPARES_MAX / 2;
    last->word[1] = NULL;
    hz3_magazine_put_bundle(cls, bundle, HZ3_SPARES_MAX / 2);
}
