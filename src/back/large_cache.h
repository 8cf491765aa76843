/* The large cache: freed large blocks that wait as a whole, still tagged, for the next request of about their size.  So
 * a thread that frees and allocates large buffers in turn needs neither the page pool's lock nor fresh pages.  It has a
 * few shards, none of them private.  Must not know of threads or heaps. */
#pragma once

#include "back/page_map.h"
#include "os/lock.h"

/* Takes a block of `granules`, or up to an eighth more, that starts at a multiple of `align` granules; or NULL. */
struct hz3_span *hz3_large_cache_take(size_t granules, size_t align);
/* Puts a freed block in; gives it to the page pool if there is no room. */
void hz3_large_cache_put(struct hz3_span *span);
/* Gives all blocks to the page pool: nothing else there has the pages for a request, and it would take fresh ones. */
void hz3_large_cache_yield(void);
/* Shrinks a live block in place, and frees the rest. */
void hz3_large_cache_shrink(struct hz3_span *span, size_t granules);
/* Purges the blocks that have been here for `age` ms or more; returns the bytes. */
size_t hz3_large_cache_trim(uint32_t age, bool break_huge_pages);
/* Bytes of addresses that wait though their pages went back; a trim of all ages frees them.  0 but in lane secure. */
size_t hz3_large_cache_addresses(void);
/* hz3_pages_make_room for the blocks here: call after taking `bytes` of fresh pages. */
void hz3_large_cache_make_room(size_t bytes);
void hz3_large_cache_each_lock(void (*visit)(struct hz3_lock *lock)); /* for fork */
