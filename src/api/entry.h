/* What the entry points share: checks of pointers that the program hands in, and the slow paths of malloc and free. */
#pragma once

#include "api/misuse.h"
#include "back/large.h"
#include "back/page_map.h"
#include HZ3_FREE_CHECK_H
#include HZ3_SECURE_H
#include "hz3.h"

/* Seals and marks p, a free object, which the program is about to get for `size` bytes. */
HZ3_INLINE void *hz3_hand_out(void *p, unsigned cls, size_t size)
{
    hz3_seal_first(p, cls, size);
    return hz3_mark_live(p, cls);
}

/* The class of the object or block that starts at p, also in a zone: a size class or LARGE.  NONE: p is not hz3's, and
 * the option says to hand it to the next allocator.  Ends the process on any other pointer. */
unsigned hz3_block_class(const void *p, const struct hz3_call *call);
/* Looks the next allocator's functions up, for which the loader's lock is taken: at the start, since later a thread may
 * hold that lock, in a library's constructor, and wait for the one that frees. */
void hz3_foreign_start(void);
/* free and realloc of the next allocator, for a block of its own. */
void hz3_free_foreign(void *p, const struct hz3_call *call);
void *hz3_realloc_foreign(void *p, size_t size, const struct hz3_call *call);
/* Lane secure: ends the process if the program wrote beyond the end of the block p, or before its start. */
void hz3_block_check_end(const void *p, unsigned cls, const struct hz3_call *call);
void hz3_block_has_other_size(const void *p, const void *from);
/* Lane secure: ends the process if p, which is about to be freed with a size and an alignment (1: any), was allocated
 * with others; from: the return address of the call. */
HZ3_INLINE void hz3_block_check_size(const void *p, size_t size, size_t alignment, const void *from)
{
    if (unlikely(!hz3_seal_fits(p, size, alignment))) hz3_block_has_other_size(p, from);
}

/* malloc_usable_size of any pointer; from: the return address of the call. */
size_t hz3_usable_slow(const void *p, const void *from);
/* malloc in any state of the thread and the process; NULL and ENOMEM.  For up to HZ3_SMALL_MAX bytes, in units: */
void *hz3_malloc_slow(size_t units);
/* For more than HZ3_SMALL_MAX bytes: */
void *hz3_malloc_large(size_t size);
void *hz3_malloc_zeroed(size_t size);
/* For an alignment, a power of two: */
void *hz3_malloc_aligned(size_t size, size_t alignment);
/* Frees the live block p of a zone, of a size class or LARGE, whose end was checked. */
void hz3_zone_block_free(struct hz3_zone *zone, void *p, unsigned cls);
/* Frees any pointer. */
void hz3_free_slow(void *p);
/* Takes in an object of a size class that is marked as freed; or, cls NONE, any pointer.  from: the return address of
 * the free. */
void hz3_free_checked(void *p, unsigned cls, const void *from);
/* Frees a pointer into the first window, in a granule that another heap owns. */
void hz3_free_home(void *p);
void *hz3_no_memory(void); /* NULL and ENOMEM */
