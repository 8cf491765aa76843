/* In the place of central_magazines.h: no magazines wait at central. */
#ifndef HZ3_VARIANTS_NO_CENTRAL_MAGAZINES_H
#define HZ3_VARIANTS_NO_CENTRAL_MAGAZINES_H

#include "middle/magazine.h"

HZ3_INLINE bool hz3_central_put_magazine(unsigned cls, struct hz3_magazine *magazine)
{
    (void)cls, (void)magazine;
    return false;
}

HZ3_INLINE struct hz3_magazine *hz3_central_get_magazine(unsigned cls)
{
    (void)cls;
    return NULL;
}

HZ3_INLINE void hz3_central_trim(unsigned cls, bool all)
{
    (void)cls, (void)all;
}

HZ3_INLINE size_t hz3_central_cached(unsigned cls)
{
    (void)cls;
    return 0;
}

HZ3_INLINE size_t hz3_central_waiting(void)
{
    return 0;
}
#endif
