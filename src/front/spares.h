/* Empty magazines of a thread, so that most slow paths need none of the shared stacks. */
#ifndef HZ3_FRONT_SPARES_H
#define HZ3_FRONT_SPARES_H

#include "front/thread.h"

enum { HZ3_SPARES_MAX = 8 };
void hz3_spares_fetch(struct hz3_bins *bins, unsigned cls);
void hz3_spares_share(struct hz3_bins *bins, unsigned cls);

/* An empty magazine from the thread's spares or from all, or NULL; */
HZ3_INLINE struct hz3_magazine *hz3_spares_get(struct hz3_bins *bins, unsigned cls)
{
    if (!bins->spare) hz3_spares_fetch(bins, cls);
    struct hz3_magazine *magazine = bins->spare;
    if (!magazine) return NULL;
    bins->spare = magazine->word[1];
    bins->spares--;
    return magazine;
}

/* and the way back. */
HZ3_INLINE void hz3_spares_put(struct hz3_bins *bins, unsigned cls, struct hz3_magazine *magazine)
{
    if (bins->spares == HZ3_SPARES_MAX) hz3_spares_share(bins, cls);
    magazine->word[1] = bins->spare;
    bins->spare = magazine;
    bins->spares++;
}
#endif
