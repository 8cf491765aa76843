/* The cache: the free objects that a thread holds.  Usually only the fast paths run (api/entry.c).  The slow paths here
 * swap the two magazines of a class, or else refill (front/refill) or leave a full magazine to others (front/evict).
 *
 * Must not know of the API's error rules, nor of reclaim: a slow path sets `due`, and the API calls reclaim. */
#pragma once

#include "front/thread.h"

/* malloc, when the loaded magazine is empty: NULL if there is no memory, or if the gate turned the thread away and
 * there is nothing without a lock.  free, when it is full; p's state byte is cleared already. */
void *hz3_cache_malloc_slow(unsigned cls);
void hz3_cache_free_slow(void *p, unsigned cls);

/* An object of the loaded magazine, or NULL. */
HZ3_INLINE void *hz3_cache_pop(unsigned cls)
{
    void **top = hz3_thread.cache.top[cls];
    void *p = *top;
    if (likely(p)) hz3_thread.cache.top[cls] = top - 1;
    return p;
}

HZ3_INLINE void *hz3_cache_malloc(unsigned cls)
{
    void *p = hz3_cache_pop(cls);
    return likely(p) ? p : hz3_cache_malloc_slow(cls);
}

HZ3_INLINE void hz3_cache_free(void *p, unsigned cls)
{
    void **top = hz3_thread.cache.top[cls] + 1;
    if (unlikely((uintptr_t)top % HZ3_MAGAZINE_BYTES == 0)) {
        hz3_cache_free_slow(p, cls);
        return;
    }
    *top = p;
    hz3_thread.cache.top[cls] = top;
}

/* For a thread that the gate turned away: frees p without a lock.  False: there was no magazine, or no room for one. */
bool hz3_cache_free_during_fork(void *p, unsigned cls);

/* Around other changes of a thread's own cache in a slow path (front/remote_free), inside the gate.  False: this thread
 * has no cache yet, or no longer. */
bool hz3_cache_enter(void);
void hz3_cache_leave(void);
