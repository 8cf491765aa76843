/* The page pool: spans of granules, for runs and large blocks.  A free span stays dirty for the decay
 * time, so that a block freed and asked for again costs no system call.  Then it is purged (back/purge) and stays as
 * clean address space; where mappings count it is unmapped.  Neighbours of the same state merge (back/free_spans).
 * All is under one lock, which is never held during a purge.  Must not know of objects, classes or threads. */
#ifndef HZ3_BACK_PAGES_H
#define HZ3_BACK_PAGES_H

#include "back/page_map.h"

/* A span of at least one granule that starts on a multiple of align_granules (a power of two; 1 for a run).  Its
 * descriptor is filled in, but for the fields of its `kind`.  NULL: the system has no memory. */
struct hz3_span *hz3_pages_alloc(size_t granules, size_t align_granules, enum hz3_span_kind kind);
/* A clean span, or NULL.  Purges nothing to make room, since the caller leaves the span untouched. */
struct hz3_span *hz3_pages_alloc_untouched(size_t granules);
void hz3_pages_free(struct hz3_span *span);
/* Gives up an allocated span and its pages for good, and ends its window for what is mapped from now on. */
void hz3_pages_leave(struct hz3_span *span);

/* Resize in place.  A span grows into a free right neighbour; with `extend` also into a hole, or beyond what the window
 * has mapped, if the system has the memory.  False: it did not grow. */
void hz3_pages_shrink(struct hz3_span *span, size_t granules);
bool hz3_pages_grow(struct hz3_span *span, size_t granules, bool extend);
/* Moves the pages of `from` over those of `to` (both allocated, `to` no smaller) and frees `from`; or fails and
 * frees `to`. */
bool hz3_pages_move(struct hz3_span *to, struct hz3_span *from);
/* False while back/vma_edges is full.  False, where mappings count, for a span of several: the system may have no room
 * half-way. */
bool hz3_pages_may_move(const struct hz3_span *span);
#endif
