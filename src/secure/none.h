/* In the place of secure/secure.h, in all other lanes: objects have no seals, none waits after its free, and a request
 * of 0 bytes gets an object as any other. */
#pragma once

#include "back/large.h"
#include "base/sizeclass.h"
#include "secure/no_quarantine.h"

/* ---- seals ---- */

enum { HZ3_SEAL_BYTES = 0 };

HZ3_INLINE void hz3_seal_start(void) {}

HZ3_INLINE size_t hz3_sealed(size_t size)
{
    return size;
}

HZ3_INLINE void *hz3_seal(void *p, unsigned cls, size_t size)
{
    (void)cls, (void)size;
    return p;
}

HZ3_INLINE void hz3_seal_first(void *p, unsigned cls, size_t size)
{
    (void)p, (void)cls, (void)size;
}

HZ3_INLINE void hz3_seal_wipe(void *p, unsigned cls)
{
    (void)p, (void)cls;
}

enum hz3_seal_fault { HZ3_SEAL_HOLDS, HZ3_SEAL_END, HZ3_SEAL_FRONT };
HZ3_INLINE enum hz3_seal_fault hz3_seal_look(const void *p, unsigned cls)
{
    (void)p, (void)cls;
    return HZ3_SEAL_HOLDS;
}

HZ3_INLINE bool hz3_seal_fits(const void *p, size_t size, size_t alignment)
{
    (void)p, (void)size, (void)alignment;
    return true;
}

HZ3_INLINE size_t hz3_seal_like_small(void *p, unsigned cls)
{
    size_t before = hz3_large_usable(p);
    hz3_large_set_usable(p, hz3_class_size(cls));
    return before - hz3_class_size(cls);
}

HZ3_INLINE size_t hz3_seal_usable(const void *p, unsigned cls)
{
    if (cls == HZ3_CLASS_LARGE) return hz3_large_usable(p);
    return hz3_class_size(cls);
}

HZ3_INLINE size_t hz3_seal_usable_at_most(unsigned cls, size_t usable)
{
    return cls == HZ3_CLASS_LARGE ? usable : hz3_class_size(cls);
}

/* ---- requests of 0 bytes ---- */

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
