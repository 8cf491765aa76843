/* Guard pages for a few allocations, chosen at random (HZ3_GUARD; as GWP-ASan).  Each lies on a page of its own between
 * two inaccessible ones, and after its free its own page is inaccessible too.  An access before its start, beyond its
 * end or after its free ends the process, with a message that names the block, and who accessed, allocated and freed
 * it. */
#pragma once

#include "os/lock.h"

/* Reserves the pages and handles SIGSEGV; a fault elsewhere goes to the handler that was there before.  False: no room.
 * Call once.  If the program handles SIGSEGV itself later, there are no messages. */
bool hz3_guard_start(void);

/* Returns a block of `size` bytes (up to a page), aligned to the power of two.  NULL: no page is left, or another
 * thread forks or has the lock.  Call outside the gate. */
void *hz3_guard_alloc(size_t size, size_t alignment);
/* Whether p lies in such a page or an inaccessible one beside it.  Cheap. */
extern HZ3_HIDDEN uintptr_t hz3_guard_base;
extern HZ3_HIDDEN size_t hz3_guard_bytes;
HZ3_INLINE bool hz3_guard_has(const void *p)
{
    return (uintptr_t)p - hz3_guard_base < hz3_guard_bytes;
}
/* These two end the process unless p is the start of a live block.  call: the name of the standard function. */
void hz3_guard_free(void *p, const char *call);
size_t hz3_guard_size(const void *p, const char *call);
extern struct hz3_lock hz3_guard_lock; /* for fork */
