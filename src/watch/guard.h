/* Guard pages for a few allocations, chosen at random (HZ3_GUARD; the idea is GWP-ASan's): each has a page of its own
 * between two that nobody may touch, and becomes one of those when it is freed.  An access beyond its end, before its
 * start or after its free ends the process with a message that names the block and who accessed, allocated and freed
 * it. */
#ifndef HZ3_WATCH_GUARD_H
#define HZ3_WATCH_GUARD_H

#include "os/lock.h"

/* Reserves the pages and handles SIGSEGV (others' handlers get what is not about these pages).  False: no room.  Once.
 * Programs that handle SIGSEGV themselves, later, have no messages. */
bool hz3_guard_start(void);

/* A block of `size` bytes (up to a page), aligned to the power of two; NULL: none is left, or this is no moment for it.
 * Outside the gate. */
void *hz3_guard_alloc(size_t size, size_t alignment);
/* Whether p lies in such a page.  Cheap. */
extern HZ3_HIDDEN uintptr_t hz3_guard_base;
extern HZ3_HIDDEN size_t hz3_guard_bytes;
HZ3_INLINE bool hz3_guard_has(const void *p)
{
    return (uintptr_t)p - hz3_guard_base < hz3_guard_bytes;
}
/* The following end the process unless p is the start of a live block.  call: of the standard function. */
void hz3_guard_free(void *p, const char *call);
size_t hz3_guard_size(const void *p, const char *call);
extern struct hz3_lock hz3_guard_lock; /* for fork */
#endif
