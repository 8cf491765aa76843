/* Large blocks: more than 64 KiB, or aligned beyond it.  One span each, page-granular in what they
 * count as usable.  What is freed waits in the large cache. */
#ifndef HZ3_BACK_LARGE_H
#define HZ3_BACK_LARGE_H

#include "back/page_map.h"
#include "base/layout.h"

/* No block is larger: a span's granules are counted in 31 bits. */
#define HZ3_LARGE_MAX ((size_t)INT32_MAX << HZ3_GRANULE_SHIFT)

/* alignment: a power of two.  zero: the block reads as zero. */
void *hz3_large_alloc(size_t size, size_t alignment, bool zero); /* or NULL */
void hz3_large_free(void *p);                                    /* p is the start of a live block */
size_t hz3_large_usable(const void *p);
/* Bytes of pages that were not there when the block was made: all of it, or none. */
size_t hz3_large_fresh(const void *p);

/* Of a block of `size` bytes; what a span that becomes a block, or ends as one, is told. */
size_t hz3_large_granules(size_t size);
void hz3_large_begin(struct hz3_span *span, size_t size);
void hz3_large_end(struct hz3_span *span);

/* Resizes: in place where there is room, else by moving the pages, else NULL and p is as it was. */
void *hz3_large_realloc(void *p, size_t size);

/* Whether p, whose tag is HZ3_CLASS_LARGE, is the start of the block; and whether that is live, or waits in the large
 * cache. */
bool hz3_large_is_block(const void *p);
bool hz3_large_is_live(const void *p);
/* Whether p, whose tag is NONE, lies in a live large block.  Walks: for last words only. */
bool hz3_large_covers(const void *p);

/* From now on so many bytes, and no more, are usable at p, the start of a block that has them. */
void hz3_large_set_usable(const void *p, size_t bytes);
/* The number of the sample that p, the start of a block, is (0: none); taken, it has none any more. */
void hz3_large_set_sample(const void *p, uint32_t sample);
uint32_t hz3_large_take_sample(const void *p);

extern HZ3_ATOMIC(size_t) hz3_large_bytes;        /* usable bytes of all live blocks */
extern const struct hz3_place hz3_large_places[]; /* for readers outside: base/layout */
#endif
