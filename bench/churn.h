/* Random malloc and free in a thread's own slots.  An iteration picks a slot, and empties or fills it. */
#ifndef BENCH_CHURN_H
#define BENCH_CHURN_H

#include "bench.h"

/* size: returns the next object's size, from the thread's random state and 32 random bits.  Returns the calls made. */
static inline uint64_t churn(void **slots, uint64_t ws, uint64_t iters, enum bench_touch touch, uint64_t seed,
                             uint64_t (*size)(uint64_t *random, uint32_t random_bits))
{
    uint64_t state = seed, ops = iters;
    for (uint64_t i = 0; i < iters; i++) {
        uint64_t random = bench_random(&state);
        void **slot = &slots[bench_scale((uint32_t)random, ws)];
        if (*slot) {
            bench_free(*slot);
            *slot = NULL;
        } else {
            *slot = bench_alloc(size(&state, (uint32_t)(random >> 32)), touch);
        }
    }
    for (uint64_t i = 0; i < ws; i++) {
        if (!slots[i]) continue;
        bench_release(slots[i], 1, touch);
        ops++;
    }
    return ops;
}

#endif
