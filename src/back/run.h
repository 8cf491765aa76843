/* A run: a span cut into objects of one class; a bitmap beside it says which are free.  Retired objects are handed out
 * before those that were never used, each lowest address first.  At most one holder takes objects from a run; one other
 * thread may retire into it meanwhile.  Must not know who holds it or why. */
#pragma once

#include "back/page_map.h"

/* Returns a new run with no object handed out, or NULL: no memory. `owner`: the number of a heap whose lock is held. */
struct hz3_span *hz3_run_new(unsigned cls, unsigned owner);
/* Makes heap `owner` the owner.  Central's lock of the class is held. */
void hz3_run_give(struct hz3_span *run, unsigned owner);
void hz3_run_free(struct hz3_span *run); /* live == 0; as hz3_pages_give_up */

/* Takes up to `want` objects, lowest address first; returns how many.  Only the holder may call it. */
unsigned hz3_run_take(struct hz3_span *run, void **objects, unsigned want);

/* In lane secure wipes and shuffles `taken` objects that the run hands out (secure/wiped_fresh.c); the last `fresh` of
 * them were never handed out.  Only the holder may call it. */
void hz3_fresh_prepare(const struct hz3_span *run, void **objects, unsigned taken, unsigned fresh);

/* Retires the leading objects of n that lie in `run`, at least the first one; returns how many.  Neighbours in turn, up
 * or down, go by the word of the bitmap.  Ends the process if one is no object that was handed out.  One thread at a
 * time; `held`: the run's holder may take objects meanwhile. */
unsigned hz3_run_retire(struct hz3_span *run, void *const *objects, unsigned n, bool held);
/* Prefetches what hz3_run_retire of p will write. (A run of more than 64 objects has one granule.) */
void hz3_run_expect_retire(const void *p, unsigned cls);

/* Purges every page without a live object; returns the bytes purged.  Only the holder may call it. */
size_t hz3_run_purge(struct hz3_span *run, bool break_huge_pages);

/* The index of the object that p lies in. */
size_t hz3_run_index(const struct hz3_span *run, const void *p);
/* Whether an object starts at p that has been handed out before. */
bool hz3_run_is_object(const struct hz3_span *run, const void *p);
/* Whether an object starts at p, handed out or not. */
bool hz3_run_is_slot(const struct hz3_span *run, const void *p);
/* The start of the object that p lies in, handed out or not. */
const void *hz3_run_slot(const struct hz3_span *run, const void *p);
