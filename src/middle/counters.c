#include "middle/counters.h"

_Thread_local struct hz3_counters hz3_counters;

HZ3_RACY void hz3_counters_add(struct hz3_counters *sum, const struct hz3_counters *more)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)more;
    for (int i = 0; i < HZ3_COUNTERS - HZ3_COUNTER_MAXIMA; i++) to[i] += from[i];
    for (int i = HZ3_COUNTERS - HZ3_COUNTER_MAXIMA; i < HZ3_COUNTERS; i++) to[i] = hz3_max(to[i], from[i]);
}
