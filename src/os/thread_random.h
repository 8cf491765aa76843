/* Cheap random numbers: a stream for each thread, from a seed that no two processes share.  Not for keys: the next
 * number can be computed from earlier ones. */
#pragma once

#include "base/random.h"
#include "base/types.h"

extern HZ3_HIDDEN _Thread_local uint64_t hz3_random_state;
uint64_t hz3_random_seed(void); /* from the process's and the thread's own; never 0 */

/* The finalizer of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014). */
HZ3_INLINE uint64_t hz3_random_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* A number of 0 .. n - 1.  n is far below 2^32, so that all are about as likely. */
HZ3_INLINE uint32_t hz3_random_below(uint32_t n)
{
    uint64_t state = hz3_random_state;
    if (unlikely(!state)) state = hz3_random_seed();
    hz3_random_state = state = hz3_random_next(state);
    return (uint32_t)((state >> 32) * n >> 32);
}
