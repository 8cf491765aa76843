/* HZ3_FREE_CHECK: whether an object of a size class is live, by its state byte (back/page_map).  A large block has that
 * in its descriptor. */
#ifndef HZ3_BACK_FREE_CHECK_H
#define HZ3_BACK_FREE_CHECK_H

#include "back/page_map.h"

/* Marks p, which is about to be handed out, as the start of a live object.  The state is 1 more than the address's low
 * byte: never 0, as p is aligned. */
HZ3_INLINE void *hz3_mark_live(void *p, unsigned cls)
{
    *hz3_state_of(p, cls) = (uint8_t)((uintptr_t)p + 1);
    return p;
}

/* The object p is no longer live.  (0 is the only state that belongs to no pointer, so freed objects and those never
 * handed out look the same.) */
HZ3_INLINE void hz3_mark_freed(const void *p, unsigned cls)
{
    *hz3_state_of(p, cls) = 0;
}

/* Whether p, any pointer into a granule of the class, is the start of a live object; builds without the check assume
 * it. (Compared as int: as bytes, the state 0 would belong to an address that ends in 0xff.) */
HZ3_INLINE bool hz3_is_live(const void *p, unsigned cls)
{
    return *hz3_state_of(p, cls) - 1 == (int)((uintptr_t)p % 256);
}

/* The same, as far as any build can tell. */
HZ3_INLINE bool hz3_looks_live(const void *p, unsigned cls)
{
    return hz3_is_live(p, cls);
}
#endif
