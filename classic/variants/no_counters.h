/* In the place of counters.h: no box is built in. */
#pragma once

#include "base/types.h"
#include "os/lock.h"

#define HZ3_COUNT(counter, n) \
    do { \
        if (0) (void)(n); \
    } while (0)
#define HZ3_COUNT_MAX(counter, n) HZ3_COUNT(counter, n)
#define HZ3_COUNT_LENGTH(length)  HZ3_COUNT(, length)

HZ3_INLINE void hz3_counters_leave(void) {}
HZ3_INLINE void hz3_counters_each_lock(void (*visit)(struct hz3_lock *lock))
{
    (void)visit;
}
HZ3_INLINE void hz3_counters_after_fork(void) {}
