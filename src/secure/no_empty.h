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

enum hz3_empty_state { HZ3_EMPTY_ELSEWHERE, HZ3_EMPTY_LIVE, HZ3_EMPTY_FREED, HZ3_EMPTY_INTERIOR, HZ3_EMPTY_NEVER };
HZ3_INLINE enum hz3_empty_state hz3_empty_look(const void *p)
{
    (void)p;
    return HZ3_EMPTY_ELSEWHERE;
}

HZ3_INLINE bool hz3_empty_free(void *p)
{
    (void)p;
    return false;
}
#endif
