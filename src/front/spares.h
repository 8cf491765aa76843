/* Empty magazines of a thread, so that most slow paths need none of the shared stacks. */
#ifndef HZ3_FRONT_SPARES_H
#define HZ3_FRONT_SPARES_H

#include "front/thread.h"

enum { HZ3_SPARES_MAX = 8 };
void hz3_spares_fetch(struct hz3_thread *self, unsigned cls);
void hz3_spares_share(struct hz3_thread *self, unsigned cls);

/* An empty magazine from the thread's spares or from all, or NULL; */
HZ3_INLINE struct hz3_magazine *hz3_spares_get(struct hz3_thread *self, unsigned cls)
{
    if (!self->spare) hz3_spares_fetch(self, cls);
    struct hz3_magazine *magazine = self->spare;
    if (!magazine) return NULL;
    self->spare = magazine->word[1];
    self->spares--;
    return magazine;
}

/* and the way back. */
HZ3_INLINE void hz3_spares_put(struct hz3_thread *self, unsigned cls, struct hz3_magazine *magazine)
{
    if (self->spares == HZ3_SPARES_MAX) hz3_spares_share(self, cls);
    magazine->word[1] = self->spare;
    self->spare = magazine;
    self->spares++;
}
#endif
