/* A run: a span cut into objects of one class; a bitmap beside it says which are free.
 * Objects are handed out in address order, retired ones before those never used.  One holder at a time takes
 * from a run, and one other thread may retire into it meanwhile.  Must not know who holds it or why. */
#ifndef HZ3_BACK_RUN_H
#define HZ3_BACK_RUN_H

#include "back/page_map.h"

/* A new run with no object handed out, or NULL: no memory.  `owner` is a heap whose lock is held. */
struct hz3_span *hz3_run_new(unsigned cls, unsigned owner);
/* Makes heap `owner` the owner of the run.  Central's lock of the class is held. */
void hz3_run_give(struct hz3_span *run, unsigned owner);
void hz3_run_free(struct hz3_span *run); /* live == 0 */

/* Holder only.  Takes up to `want` objects, lowest address first; returns how many. */
unsigned hz3_run_take(struct hz3_span *run, void **objects, unsigned want);

/* Retires the first of n objects, at least one, and those after it that lie in the same run, which is `run`; returns
 * how many.  Writes each word of the bitmap once for neighbours in a row.  Ends the process where no object starts that
 * was handed out.  One thread at a time; `held`: the run's holder may take objects meanwhile. */
unsigned hz3_run_retire(struct hz3_span *run, void *const *objects, unsigned n, bool held);
/* Prefetches what a retire of p will write.  (Runs of more than 64 objects have a single granule.) */
void hz3_run_expect_retire(const void *p, unsigned cls);

/* Holder only.  Purges every page without a live object; returns the bytes that were not refused. */
size_t hz3_run_purge(struct hz3_span *run, bool break_huge_pages);

/* Which object of the run p lies in. */
size_t hz3_run_index(const struct hz3_span *run, const void *p);
/* Whether an object starts at p that was handed out at some time. */
bool hz3_run_is_object(const struct hz3_span *run, const void *p);
/* Whether an object starts at p, handed out or not. */
bool hz3_run_is_slot(const struct hz3_span *run, const void *p);
/* Where the object starts that p lies in, handed out or not. */
const void *hz3_run_slot(const struct hz3_span *run, const void *p);
#endif
