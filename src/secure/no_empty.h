/* In the place of empty.h: a request of 0 bytes gets an object as any other. */
#ifndef HZ3_SECURE_NO_EMPTY_H
#define HZ3_SECURE_NO_EMPTY_H

#include "base/types.h"

HZ3_INLINE void *hz3_empty_alloc(size_t size, size_t alignment)
{
    (void)size, (void)alignment;
    return NULL;
}

HZ3_INLINE bool hz3_empty_has(const void *p)
{
    (void)p;
    return false;
}

HZ3_INLINE bool hz3_empty_is_live(const void *p)
{
    (void)p;
    return false;
}

HZ3_INLINE bool hz3_empty_was_live(const void *p)
{
    (void)p;
    return false;
}

HZ3_INLINE bool hz3_empty_free(void *p)
{
    (void)p;
    return false;
}
#endif
