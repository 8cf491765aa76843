/* What the entries share: the checks on a pointer the program hands in, and the slow sides of malloc and free. */
#ifndef HZ3_API_ENTRY_H
#define HZ3_API_ENTRY_H

#include "api/misuse.h"
#include "back/large.h"
#include "back/page_map.h"
#include "hz3.h"

/* HZ3_FREE_CHECK: marks p, which is about to be handed out, as the start of a live object of a size class (large
 * blocks know it themselves).  Its state is 1 more than its address's low byte: never 0, since p is aligned. */
HZ3_INLINE void *hz3_mark_live(void *p, unsigned cls)
{
    if (HZ3_FREE_CHECK) *hz3_state_of(p, cls) = (uint8_t)((uintptr_t)p + 1);
    return p;
}

/* HZ3_FREE_CHECK: the object p of a size class is live no more.  (0 is the only state that no pointer takes for its
 * own, so what was freed and what was never handed out look the same.) */
HZ3_INLINE void hz3_mark_freed(const void *p, unsigned cls)
{
    if (HZ3_FREE_CHECK) *hz3_state_of(p, cls) = 0;
}

/* HZ3_FREE_CHECK: whether p, any pointer into a granule of the class, is the start of a live object.  (Compared in
 * int: in a byte, what 0 stands for would be the address that ends in 0xff.) */
HZ3_INLINE bool hz3_is_live(const void *p, unsigned cls)
{
    return *hz3_state_of(p, cls) - 1 == (int)((uintptr_t)p % 256);
}

/* The class of the block that p must be the start of (a size class or LARGE).  NONE: p is not ours, and the
 * option says that this is the next allocator's business.  Ends the process on any other pointer. */
unsigned hz3_block_class(const void *p, const struct hz3_call *call);
void *hz3_realloc_foreign(void *p, size_t size, const struct hz3_call *call);
size_t hz3_usable_foreign(const void *p);
size_t hz3_block_usable(const void *p, unsigned cls);

/* Any state of the thread and the process; NULL and ENOMEM.  Sizes up to HZ3_SMALL_MAX, in units of 16 bytes: */
void *hz3_malloc_slow(size_t units);
/* More than HZ3_SMALL_MAX bytes: */
void *hz3_malloc_large(size_t size);
void *hz3_malloc_zeroed(size_t size);
/* The same as malloc for an alignment, a power of two. */
void *hz3_malloc_aligned(size_t size, size_t alignment);
/* Any pointer. */
void hz3_free_slow(void *p);
/* A pointer into the first window, in a granule of another heap's. */
void hz3_free_home(void *p);
void *hz3_no_memory(void); /* NULL and ENOMEM */
#endif
