/* The page pool: spans of granules, for runs and large blocks.  Free spans stay dirty for the decay
 * time (a block freed and asked for again costs no system call), then are purged (back/purge) and stay as
 * clean address space, or are unmapped where what is mapped counts.  Neighbours of the same state merge
 * (back/free_spans).  Everything here is under one lock, which is never held during a purge.  Must not know of
 * objects, classes or threads. */
#ifndef HZ3_BACK_PAGES_H
#define HZ3_BACK_PAGES_H

#include "back/page_map.h"

/* A span of at least one granule, its start on a multiple of align_granules (a power of two), its
 * descriptor filled in but for what `kind` adds.  NULL: the system has no memory. */
struct hz3_span *hz3_pages_alloc(size_t granules, size_t align_granules, enum hz3_span_kind kind);
/* Address space that nobody has touched; it stays so, and makes no room for what is to be.  Or NULL. */
struct hz3_span *hz3_pages_alloc_untouched(size_t granules);
/* The same as hz3_pages_alloc for a run.  One of a single granule comes from the heap's *reserve if there is one; where
 * nothing is dirty, and a huge page would soon be in use as a whole, it gets one of that size.  The heap's lock is
 * held. */
struct hz3_span *hz3_pages_alloc_run(size_t granules, struct hz3_span **reserve);
void hz3_pages_free(struct hz3_span *span);

/* Resizes in place.  Growing fails unless the right neighbour is free, or, with `extend`, is a hole or the end of what
 * the window has mapped, and the system has the memory. */
void hz3_pages_shrink(struct hz3_span *span, size_t granules);
bool hz3_pages_grow(struct hz3_span *span, size_t granules, bool extend);
/* Moves the pages of `from` over those of `to` (both allocated, `to` no smaller) and frees `from`; or fails and
 * frees `to`. */
bool hz3_pages_move(struct hz3_span *to, struct hz3_span *from);
/* Not while back/vma_edges is full; nor, where what is mapped counts, of more than one mapping: the system may have no
 * room half-way. */
bool hz3_pages_may_move(const struct hz3_span *span);
#endif
