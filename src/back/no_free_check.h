/* In the place of free_check.h: objects have no state, and are taken to be live. */
#pragma once

#include "back/span.h"

HZ3_INLINE void *hz3_mark_live(void *p, unsigned cls)
{
    (void)cls;
    return p;
}

HZ3_INLINE void hz3_mark_freed(const void *p, unsigned cls)
{
    (void)p, (void)cls;
}

HZ3_INLINE bool hz3_is_live(const void *p, unsigned cls)
{
    (void)p, (void)cls;
    return true;
}

HZ3_INLINE bool hz3_is_fresh(const void *p, unsigned cls)
{
    (void)p, (void)cls;
    return false;
}

HZ3_INLINE void hz3_mark_fresh(const struct hz3_span *span, unsigned cls)
{
    (void)span, (void)cls;
}

HZ3_INLINE void hz3_mark_all_freed(const struct hz3_span *run)
{
    (void)run;
}

HZ3_INLINE bool hz3_looks_live(const void *p, unsigned cls)
{
    (void)cls;
    return (uintptr_t)p % HZ3_UNIT == 0;
}
