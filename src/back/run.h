/* A run: a span cut into objects of one class, with its free objects in a bitmap out of band.
 * Objects are handed out in address order, retired ones before never used ones.  One holder at a
 * time takes from a run, and one other retires into it meanwhile.  Must not know who holds it or why. */
#ifndef HZ3_BACK_RUN_H
#define HZ3_BACK_RUN_H

#include "back/page_map.h"

/* A run of heap `owner`'s with no object handed out, or NULL: no memory.  The heap's lock is held, and *reserve its
 * reserve. */
struct hz3_span *hz3_run_new(unsigned cls, unsigned owner, struct hz3_span **reserve);
/* Makes `owner` the run's heap.  Central's lock of the class is held. */
void hz3_run_give(struct hz3_span *run, unsigned owner);
void hz3_run_free(struct hz3_span *run); /* live == 0 */

/* Holder only.  Takes up to `want` objects, lowest address first; returns how many. */
unsigned hz3_run_take(struct hz3_span *run, void **objects, unsigned want);

/* Retires p, which lies in the run: ends the process if p is not the start of an object that is out.  One thread at a
 * time; `held`: the holder may take meanwhile. */
void hz3_run_retire(struct hz3_span *run, void *p, bool held);
/* Prefetches what a retire of p, of that class, writes.  Runs of more than 64 objects have one granule. */
void hz3_run_expect_retire(const void *p, unsigned cls);

/* Holder only.  Gives back every page without a live object; returns the bytes asked for. */
size_t hz3_run_purge(struct hz3_span *run, bool break_huge_pages);

/* Which object of the run p lies in. */
size_t hz3_run_index(const struct hz3_span *run, const void *p);
/* Whether p is where an object of the run starts that was handed out at some time. */
bool hz3_run_is_object(const struct hz3_span *run, const void *p);
/* Whether an object starts there, or will once the run has got so far. */
bool hz3_run_is_slot(const struct hz3_span *run, const void *p);
#endif
