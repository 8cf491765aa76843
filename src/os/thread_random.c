#include "os/thread_random.h"

#include "os/os.h"

HZ3_HIDDEN _Thread_local uint64_t hz3_random_state;

HZ3_COLD uint64_t hz3_random_seed(void)
{
    return hz3_random_mix(hz3_os.random ^ (uintptr_t)&hz3_random_state) | 1;
}
