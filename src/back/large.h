/* Large blocks: more than 64 KiB, or aligned beyond it.  One span each, page-granular in what they
 * count as usable.  The page pool caches what is freed. */
#ifndef HZ3_BACK_LARGE_H
#define HZ3_BACK_LARGE_H

#include "back/map.h"

/* alignment: a power of two.  zero: the block reads as zero. */
void *hz3_large_alloc(size_t size, size_t alignment, bool zero); /* or NULL */
void hz3_large_free(void *p);                                    /* p is the start of a live block */
size_t hz3_large_usable(const void *p);

/* Resizes: in place where there is room, else by moving the pages, else NULL and p is as it was. */
void *hz3_large_realloc(void *p, size_t size);

/* Whether p is the start of a live large block; p's tag is HZ3_CLASS_LARGE. */
bool hz3_large_is_block(const void *p);

extern HZ3_ATOMIC(size_t) hz3_large_bytes; /* usable bytes of all live blocks */
#endif
