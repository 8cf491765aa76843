/* Large blocks: more than 64 KiB in size or alignment.  Each is a span; its usable size is a multiple of the page.
 * A freed block waits in the large cache. */
#pragma once

#include "back/page_map.h"

/* The largest block: a span's granules are counted in 31 bits. */
#define HZ3_LARGE_MAX ((size_t)INT32_MAX << HZ3_GRANULE_SHIFT)

/* Returns a block whose address is a multiple of `alignment`, a power of two; or NULL. */
void *hz3_large_alloc(size_t size, size_t alignment);
/* Makes a new block read as zero.  Needs no lock, and takes long if much of its pages was written: no fork waits for it
 * outside the gate. */
void hz3_large_zero(void *p, size_t size);
void hz3_large_free(void *p); /* p is the start of a live block */
size_t hz3_large_usable(const void *p);
/* The bytes of the block's span if its pages were fresh when it was made, else 0. */
size_t hz3_large_fresh(const void *p);

/* The granules of a block of `size` bytes; makes a span a block; ends the block. */
size_t hz3_large_granules(size_t size);
void hz3_large_begin(struct hz3_span *span, size_t size);
void hz3_large_end(struct hz3_span *span);

/* Resizes the block in place if there is room, else by moving its pages.  NULL: neither was possible, and p is
 * unchanged. */
void *hz3_large_realloc(void *p, size_t size);

/* For p with the tag HZ3_CLASS_LARGE: whether p is the start of a block; whether that block is live, not in the large
 * cache. */
bool hz3_large_is_block(const void *p);
bool hz3_large_is_live(const void *p);
/* For p with the tag NONE: whether p lies in a live large block.  Slow: for the last message of a process. */
bool hz3_large_covers(const void *p);

/* Sets the usable size of the block that starts at p. bytes: at most that of its span. */
void hz3_large_set_usable(const void *p, size_t bytes);
/* The number of the profile's sample that the block at p is, 0 if it is none.  Taking it sets it to 0. */
void hz3_large_set_sample(const void *p, uint32_t sample);
uint32_t hz3_large_take_sample(const void *p);

/* Live blocks, and their usable bytes. */
extern HZ3_ATOMIC(size_t) hz3_large_blocks, hz3_large_bytes;
