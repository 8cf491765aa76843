/* A mutex for slow paths.  Its word names the holder, so that fork can tell "another thread is inside"
 * (wait for it) from "the signal that forks landed inside my own critical section" (go on: parent and
 * child each resume that section and release the lock themselves). */
#ifndef HZ3_OS_LOCK_H
#define HZ3_OS_LOCK_H

#include "os/os.h"

struct hz3_lock {
    HZ3_ATOMIC(uint32_t) word; /* 0: free, else the holder's hz3_lock_self(), bit 0: someone may wait */
    bool forking;              /* held across a fork; written by the holder */
};

extern _Thread_local uint32_t hz3_lock_id;
uint32_t hz3_lock_new_id(void);
void hz3_lock_slow(struct hz3_lock *lock);

/* Even, not 0, this thread's alone (ids wrap after 2^31 threads). */
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
    if (unlikely(lock->forking)) return; /* by the thread that forks, in somebody's atfork handler */
    if (unlikely(hz3_exchange(lock->word, 0, memory_order_release) & 1)) hz3_os_wake(&lock->word);
}

HZ3_INLINE bool hz3_lock_is_mine(struct hz3_lock *lock)
{
    return (hz3_get(lock->word) & ~1u) == hz3_lock_self();
}

/* Around fork.  From hz3_lock_for_fork to hz3_unlock_after_fork the thread that forks passes through the lock:
 * atfork handlers of others, which run meanwhile, may allocate.  A patient caller waits as long as it takes.  A caller
 * that is itself inside some critical section (a signal handler that forks) may stand against the order of locks: it
 * waits a while, then goes on, and its child, which may only call async-signal-safe functions, finds the lock released.
 */
void hz3_lock_for_fork(struct hz3_lock *lock, bool patient);
void hz3_unlock_after_fork(struct hz3_lock *lock, bool child);
#endif
