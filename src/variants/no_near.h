/* In the place of near.h: no heap is near. */
#ifndef HZ3_VARIANTS_NO_NEAR_H
#define HZ3_VARIANTS_NO_NEAR_H

#include "middle/central.h"

HZ3_INLINE void hz3_near_join(struct hz3_heap *heap)
{
    (void)heap;
}

HZ3_INLINE bool hz3_near_adopts(unsigned own, unsigned owner, unsigned cls)
{
    (void)own, (void)owner, (void)cls;
    return false;
}
#endif
