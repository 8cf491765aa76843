/* A mutex for slow paths.  Its word names the holder, so that fork can tell whether its own thread holds it.  A signal
 * handler may fork inside a critical section: then parent and child each finish the section and release the lock. */
#pragma once

#include "os/os.h"

struct hz3_lock {
    HZ3_ATOMIC(uint32_t) word; /* 0: free; else the holder's hz3_lock_self(), with bit 0 set if a thread may wait */
};

extern _Thread_local uint32_t hz3_lock_id;
uint32_t hz3_lock_new_id(void);
void hz3_lock_slow(struct hz3_lock *lock);

/* The thread's id: even, not 0, and no other thread's (ids wrap after 2^31 threads). */
HZ3_INLINE uint32_t hz3_lock_self(void)
{
    return likely(hz3_lock_id) ? hz3_lock_id : hz3_lock_new_id();
}

HZ3_INLINE bool hz3_trylock(struct hz3_lock *lock)
{
    uint32_t unlocked = 0;
    return hz3_cas(lock->word, &unlocked, hz3_lock_self(), memory_order_acquire, memory_order_relaxed);
}

HZ3_INLINE void hz3_lock(struct hz3_lock *lock)
{
    if (unlikely(!hz3_trylock(lock))) hz3_lock_slow(lock);
}

HZ3_INLINE void hz3_unlock(struct hz3_lock *lock)
{
    if (unlikely(hz3_exchange(lock->word, 0, memory_order_release) & 1)) hz3_os_wake(&lock->word);
}

HZ3_INLINE bool hz3_lock_is_mine(struct hz3_lock *lock)
{
    return (hz3_get(lock->word) & ~1u) == hz3_lock_self();
}

/* In a forked child: a lock that another thread held is free. */
void hz3_lock_forget_others(struct hz3_lock *lock);
