/* The thread cache: what a thread holds of free objects.  The fast paths (api/entry.c) are all that usually runs; the
 * slow paths here swap the two magazines of a class, then go down the stairs (front/refill), or leave a full magazine
 * to others (front/evict).
 *
 * Must not know of the API's error rules, nor of reclaim: a slow path says when that is due, and the API sees to it. */
#ifndef HZ3_FRONT_CACHE_H
#define HZ3_FRONT_CACHE_H

#include "front/thread.h"

/* cls: a real class.  malloc: the loaded magazine was empty; NULL if there is no memory, or if the gate turned the
 * thread away and nothing is to be had without a lock.
 * free: it was full; p's state is dealt with. */
void *hz3_cache_malloc_slow(unsigned cls);
void hz3_cache_free_slow(void *p, unsigned cls);

HZ3_INLINE void *hz3_cache_malloc(unsigned cls)
{
    void **top = hz3_thread.cache.top[cls];
    void *p = *top;
    if (unlikely(!p)) return hz3_cache_malloc_slow(cls);
    hz3_thread.cache.top[cls] = top - 1;
    return p;
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

/* For a thread that the gate turned away: frees p without a lock.  False: nothing it could use is left. */
bool hz3_cache_free_during_fork(void *p, unsigned cls);

/* Around what else a joined thread does to its cache in a slow path (front/remote_free), inside the gate.  False: this
 * thread has no cache, now or any more. */
bool hz3_cache_enter(void);
void hz3_cache_leave(void);
/* Between these: objects of any class, which the owner stash refused, join this thread's magazines. */
void hz3_cache_adopt(void **objects, unsigned n);
#endif
