#include "base/atomic.h"
#include "base/random.h"

enum { PAUSE_ONE_IN = 4, PAUSE_MAX = 64 };

_Thread_local uint64_t hz3_rmw_count;

/* A thread's seed is the address of its state. */
void hz3_delay(void)
{
    static _Thread_local uint64_t random;
    if (!random) random = (uintptr_t)&random;
    random = hz3_random_next(random);
    if (random % PAUSE_ONE_IN) return;
    for (uint64_t i = random >> 32 & (PAUSE_MAX - 1); i--;) hz3_pause();
}
