/* In the place of seal.h: there are no seals. */
#ifndef HZ3_SECURE_NO_SEAL_H
#define HZ3_SECURE_NO_SEAL_H

#include "back/large.h"
#include "base/sizeclass.h"

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
#endif
