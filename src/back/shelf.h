/* Shelves: freed large blocks that wait, whole and still tagged, for the next request of about their size.  A thread
 * that frees and asks for big buffers in turn so meets neither the lock of the page pool nor fresh pages.  There are a
 * few shelves, over which threads spread; what stays too long, or is too much, goes on to the pool. */
#ifndef HZ3_BACK_SHELF_H
#define HZ3_BACK_SHELF_H

#include "back/map.h"
#include "os/lock.h"

/* A block of `granules` or at most a fourth more, live again; or NULL. */
struct hz3_span *hz3_shelf_take(size_t granules);
/* The block, which nobody uses any more, waits from now on, or is the pool's. */
void hz3_shelf_put(struct hz3_span *span);
/* Passes on what was put here before now - age ms. */
void hz3_shelf_trim(uint32_t age);
void hz3_shelf_each_lock(void (*visit)(struct hz3_lock *lock)); /* for fork */
#endif
