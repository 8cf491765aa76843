/* How often something is done again that takes long on some machines: its time is to be a share of all at most. */
#pragma once

#include "os/os.h"

struct hz3_pace {
    HZ3_ATOMIC(uint64_t) last, cost; /* ns; cost: the lesser of the last two, since another process may interrupt one */
};

HZ3_INLINE void hz3_pace_took(struct hz3_pace *pace, uint64_t ns)
{
    hz3_set(pace->cost, hz3_min(ns, hz3_exchange(pace->last, ns, memory_order_relaxed)));
}

/* Returns the ms until the next time, `least` to `most`.  share: one in so many. */
HZ3_INLINE uint32_t hz3_pace_ms(struct hz3_pace *pace, uint32_t share, uint32_t least, uint32_t most)
{
    uint64_t ms = hz3_get(pace->cost) * share / 1000000;
    return (uint32_t)hz3_max((uint64_t)least, hz3_min(ms, (uint64_t)most));
}
