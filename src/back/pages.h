/* The page pool: free spans, for runs and large blocks.  A freed span stays dirty for the decay time, so that memory
 * that is freed and allocated again costs no system call.  Then back/purge makes it clean address space, or unmaps it
 * where mappings count.  Neighbours in the same state merge (back/free_spans).
 *
 * One lock guards all of it; it is not held during a purge.  Must not know of objects, classes or threads. */
#pragma once

#include "back/page_map.h"

/* Returns a span that starts at a multiple of align_granules (a power of two; 1 for a run), with its descriptor filled
 * in except for the fields of its `kind`.  May purge other spans.  NULL: the system has no memory. */
struct hz3_span *hz3_pages_alloc(size_t granules, size_t align_granules, enum hz3_span_kind kind);
/* The same for a large block, but only a dirty span: it takes no fresh pages. */
struct hz3_span *hz3_pages_alloc_dirty(size_t granules, size_t align_granules);
/* Returns a clean span, or NULL. Does not purge to make room, since the caller will not touch the span. */
struct hz3_span *hz3_pages_alloc_untouched(size_t granules);
void hz3_pages_free(struct hz3_span *span);
/* The same for a caller that holds a lock.  When that is released hz3_pages_enforce_limits is to follow, which may
 * purge much. */
void hz3_pages_give_up(struct hz3_span *span);
/* Unmaps an allocated span for good, and ends its window for all that is mapped later. */
void hz3_pages_leave(struct hz3_span *span);

/* Resize in place.  hz3_pages_grow takes the free span to the right; with `extend` also a hole, or address space that
 * the window has not mapped yet.  Returns false, and changes nothing, if there is no room. */
void hz3_pages_shrink(struct hz3_span *span, size_t granules);
bool hz3_pages_grow(struct hz3_span *span, size_t granules, bool extend);
/* Moves the pages of `from` to `to` (both allocated, `to` at least as large) and frees `from`.  Returns false if that
 * failed, or if only one of them may get huge pages; then `to` was freed. */
bool hz3_pages_move(struct hz3_span *to, struct hz3_span *from);
/* Whether the span's pages may be moved.  False in a reservation; while the edge table is full; and, if mappings count,
 * for a span of several mappings: mremap could fail after moving some of them. */
bool hz3_pages_may_move(const struct hz3_span *span);
