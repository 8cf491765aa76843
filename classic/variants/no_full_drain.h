/* In the place of full_drain.h: a pop takes one magazine, so there is no rest. */
#ifndef HZ3_VARIANTS_NO_FULL_DRAIN_H
#define HZ3_VARIANTS_NO_FULL_DRAIN_H

#include "middle/magazine.h"

HZ3_INLINE uint32_t hz3_drain_take(struct hz3_stack *stack, uint64_t *replaced)
{
    return hz3_stack_take(stack, replaced);
}

HZ3_INLINE unsigned hz3_drain_left(unsigned before)
{
    return before - 1;
}

HZ3_INLINE struct hz3_magazine *hz3_drain_next(struct hz3_magazine *magazine)
{
    (void)magazine;
    return NULL;
}

HZ3_INLINE struct hz3_magazine *hz3_spill_get(unsigned cls)
{
    (void)cls;
    return NULL;
}

HZ3_INLINE bool hz3_spill_put(unsigned cls, struct hz3_magazine *magazine)
{
    (void)cls, (void)magazine;
    return false;
}
#endif
