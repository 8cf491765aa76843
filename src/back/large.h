/* Large blocks: more than 64 KiB in size or alignment.  Each is a span; its usable size is a multiple of the page.
 * A freed block waits in the large cache. */
#ifndef HZ3_BACK_LARGE_H
#define HZ3_BACK_LARGE_H

#include "back/page_map.h"
#include "base/layout.h"

/* The largest block: a span's granules are counted in 31 bits. */
#define HZ3_LARGE_MAX ((size_t)INT32_MAX << HZ3_GRANULE_SHIFT)

/* alignment: a power of two.  zero: the block reads as zero. */
void *hz3_large_alloc(size_t size, size_t alignment, bool zero); /* or NULL */
void hz3_large_free(void *p);                                    /* p is the start of a live block */
size_t hz3_large_usable(const void *p);
/* The size of the block if its pages were not there when it was made, else 0. */
size_t hz3_large_fresh(const void *p);

/* The granules of a block of `size` bytes; makes a span a block; ends the block. */
size_t hz3_large_granules(size_t size);
void hz3_large_begin(struct hz3_span *span, size_t size);
void hz3_large_end(struct hz3_span *span);

/* Resizes in place where there is room, else by moving the pages.  NULL: neither was possible, and p is as it was. */
void *hz3_large_realloc(void *p, size_t size);

/* Whether p, whose tag is HZ3_CLASS_LARGE, is the start of a block; whether that block is live and not in the large
 * cache. */
bool hz3_large_is_block(const void *p);
bool hz3_large_is_live(const void *p);
/* Whether p, whose tag is NONE, lies in a live large block.  Slow: for the last message of a process. */
bool hz3_large_covers(const void *p);

/* Sets the usable size of the block that starts at p; it has so many bytes. */
void hz3_large_set_usable(const void *p, size_t bytes);
/* The number of the sample (watch/profile) that the block at p is, or 0.  Taking it sets it to 0. */
void hz3_large_set_sample(const void *p, uint32_t sample);
uint32_t hz3_large_take_sample(const void *p);

/* Live blocks, and their usable bytes. */
extern HZ3_ATOMIC(size_t) hz3_large_blocks, hz3_large_bytes;
extern const struct hz3_place hz3_large_places[]; /* for readers outside: base/layout */
#endif
