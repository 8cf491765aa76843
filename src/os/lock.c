#include "os/lock.h"

enum { SPINS = 100, SLEEP_MS = 10 };

_Thread_local uint32_t hz3_lock_id;

static HZ3_ATOMIC(uint32_t) last_id;

uint32_t hz3_lock_new_id(void)
{
    do hz3_lock_id = hz3_add(last_id, 2) + 2;
    while (!hz3_lock_id); /* ids wrap, and none is 0 */
    return hz3_lock_id;
}

void hz3_lock_slow(struct hz3_lock *lock)
{
    for (int i = 0; i < SPINS; i++) {
        if (hz3_get(lock->word) == 0 && hz3_trylock(lock)) return;
        hz3_pause();
    }
    /* No sleep is long: a signal handler may land between a release and its wake, and fork, and wait for the sleeper.
     */
    for (;;) {
        uint32_t seen = 0;
        /* Take it with the waiters' bit: other threads may sleep, too. */
        if (hz3_cas(lock->word, &seen, hz3_lock_self() | 1, memory_order_acquire, memory_order_relaxed)) return;
        if ((seen & 1) || hz3_cas(lock->word, &seen, seen | 1, memory_order_relaxed, memory_order_relaxed))
            hz3_os_wait(&lock->word, seen | 1, SLEEP_MS);
    }
}

void hz3_lock_forget_others(struct hz3_lock *lock)
{
    if (hz3_get(lock->word) && !hz3_lock_is_mine(lock)) hz3_set(lock->word, 0);
}
