/* In the place of cpu_magazines.h: processors hold nothing. */
#ifndef HZ3_VARIANTS_NO_CPU_MAGAZINES_H
#define HZ3_VARIANTS_NO_CPU_MAGAZINES_H

#include "base/types.h"

#define hz3_cpus_shared() false

HZ3_INLINE void *hz3_cpu_take(unsigned cls)
{
    (void)cls;
    return NULL;
}

HZ3_INLINE bool hz3_cpu_put(void *p, unsigned cls)
{
    (void)p, (void)cls;
    return false;
}

HZ3_INLINE void hz3_cpus_count(unsigned threads)
{
    (void)threads;
}

HZ3_INLINE void hz3_cpus_clear(unsigned first, unsigned step, bool all)
{
    (void)first, (void)step, (void)all;
}

HZ3_INLINE void hz3_cpus_after_fork(void) {}

HZ3_INLINE size_t hz3_cpus_objects(unsigned cls)
{
    (void)cls;
    return 0;
}
#endif
