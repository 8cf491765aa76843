/* The large cache: freed large blocks that wait, whole and still tagged, for the next request of about their size.  A
 * thread that frees and asks for big buffers in turn so meets neither the lock of the page pool nor fresh pages.  There
 * are a few shards, over which threads spread, and none is private: who finds nothing on its own looks at the others.
 * Talks to the page pool, which gets what is too much.  Must not know of threads or heaps. */
#ifndef HZ3_BACK_LARGE_CACHE_H
#define HZ3_BACK_LARGE_CACHE_H

#include "back/page_map.h"
#include "os/lock.h"

/* A block of `granules` or at most an eighth more that starts on a multiple of `align` granules, or NULL. */
struct hz3_span *hz3_large_cache_take(size_t granules, size_t align);
/* The block, which nobody uses any more, waits from now on, or is the pool's. */
void hz3_large_cache_put(struct hz3_span *span);
/* Purges what was put here before now - age ms; returns the bytes. */
size_t hz3_large_cache_trim(uint32_t age, bool break_huge_pages);
/* The heap grew by so many bytes of pages that were not there: as many go of what is more than may stay then. */
void hz3_large_cache_make_room(size_t bytes);
void hz3_large_cache_each_lock(void (*visit)(struct hz3_lock *lock)); /* for fork */
#endif
