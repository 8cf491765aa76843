/* In the place of counters.h: no box is built in. */
#ifndef HZ3_VARIANTS_NO_COUNTERS_H
#define HZ3_VARIANTS_NO_COUNTERS_H

#include "base/types.h"

enum { HZ3_BOXES_ON = 0 };

#define HZ3_COUNT(counter, n) \
    do { \
        if (0) (void)(n); \
    } while (0)
#define HZ3_COUNT_MAX(counter, n) HZ3_COUNT(counter, n)
#define HZ3_OBSERVE(call)         ((void)0)

struct hz3_counters;
struct hz3_counting {
};

HZ3_INLINE void hz3_counting_start(struct hz3_counting *mine)
{
    (void)mine;
}

HZ3_INLINE void hz3_counters_of_dead(struct hz3_counters *sum)
{
    (void)sum;
}

HZ3_INLINE void hz3_counters_add(struct hz3_counters *sum, const struct hz3_counting *thread)
{
    (void)sum, (void)thread;
}

HZ3_INLINE void hz3_counters_bury(const struct hz3_counting *thread)
{
    (void)thread;
}
#endif
