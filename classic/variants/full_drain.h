/* Full drain (work order S112): a pop takes all magazines of a bin at once.  Spill (S48): the thread keeps two of the
 * rest for next time. */
#ifndef HZ3_VARIANTS_FULL_DRAIN_H
#define HZ3_VARIANTS_FULL_DRAIN_H

#include "middle/magazine.h"

struct hz3_magazine *hz3_full_drain_get(unsigned cls);
bool hz3_full_drain_put(unsigned cls, struct hz3_magazine *magazine);

/* Takes; returns the number of the top magazine, or 0.  *replaced: the head before. */
HZ3_INLINE uint32_t hz3_drain_take(struct hz3_stack *stack, uint64_t *replaced)
{
    return HZ3_S112_FULL_DRAIN_EXCHANGE ? hz3_stack_take_all(stack, replaced) : hz3_stack_take(stack, replaced);
}

/* How many are left in the bin after a take. */
HZ3_INLINE unsigned hz3_drain_left(unsigned before)
{
    return HZ3_S112_FULL_DRAIN_EXCHANGE ? 0 : before - 1;
}

/* The next of the magazines that were taken together; or NULL. */
HZ3_INLINE struct hz3_magazine *hz3_drain_next(struct hz3_magazine *magazine)
{
    return HZ3_S112_FULL_DRAIN_EXCHANGE ? hz3_magazine_below(magazine) : NULL;
}

/* Takes a magazine that this thread kept, or NULL. */
HZ3_INLINE struct hz3_magazine *hz3_spill_get(unsigned cls)
{
    return HZ3_S48_OWNER_STASH_SPILL ? hz3_full_drain_get(cls) : NULL;
}

/* Keeps a magazine; false: there is no room. */
HZ3_INLINE bool hz3_spill_put(unsigned cls, struct hz3_magazine *magazine)
{
    return HZ3_S48_OWNER_STASH_SPILL && hz3_full_drain_put(cls, magazine);
}
#endif
