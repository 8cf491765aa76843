#include "front/spares.h"

void hz3_spares_fetch(struct hz3_bins *bins, unsigned cls)
{
    bins->spare = hz3_magazine_get_bundle(cls);
    bins->spares = bins->spare ? bins->spare->header.top : 0;
}

/* Half of the spares go to others. */
void hz3_spares_share(struct hz3_bins *bins, unsigned cls)
{
    struct hz3_magazine *bundle = bins->spare, *last = bundle;
    for (int i = 1; i < HZ3_SPARES_MAX / 2; i++) last = last->word[1];
    bins->spare = last->word[1];
    bins->spares -= HZ3_SPARES_MAX / 2;
    last->word[1] = NULL;
    hz3_magazine_put_bundle(cls, bundle, HZ3_SPARES_MAX / 2);
}
