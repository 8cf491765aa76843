/* Central (S142 of the work orders): per class, the runs that have room, by fullness.  Refill takes
 * from the fullest, so that sparse runs drain, empty and go back to the page pool.  Any thread may retire any
 * object here, so nothing ever waits for its owner.
 *
 * A heap is what threads carve from: it holds at most one run per class.  Threads are spread over the heaps;
 * a shared heap costs its users one short lock per refill and nothing else.
 *
 * Locks, in order: heap, class, page pool. */
#ifndef HZ3_MIDDLE_CENTRAL_H
#define HZ3_MIDDLE_CENTRAL_H

#include "middle/magazine.h"

struct hz3_heap {
    struct hz3_lock lock;
    struct hz3_span *held[HZ3_BINS];  /* under lock: the run of each class to carve from, or NULL */
    _Atomic uint64_t taken[HZ3_BINS]; /* objects, ever; written under lock */
    _Atomic uint32_t threads;         /* that use it */
} HZ3_CACHE_ALIGNED;

enum hz3_refill_source { HZ3_REFILL_HELD, HZ3_REFILL_CENTRAL, HZ3_REFILL_FRESH, HZ3_REFILL_NONE };

/* Takes up to `want` objects of a class from the heap's run, or another with room, or a fresh one; returns how many
 * (0: no memory) and tells where they are from. */
unsigned hz3_central_refill(struct hz3_heap *heap, unsigned cls, void **objects, unsigned want,
                            enum hz3_refill_source *source);
/* Puts objects of one class back into their runs, under one lock. */
void hz3_central_retire(unsigned cls, void **objects, unsigned n);
void hz3_central_retire_magazine(unsigned cls, struct hz3_magazine *magazine);

/* The heap lets go of its runs that have retired objects, so that they can be purged, or given back when empty. */
void hz3_central_release_heap(struct hz3_heap *heap);
/* Purges the idle pages of runs into which objects were retired since before now - age ms; bytes purged. */
size_t hz3_central_purge(uint32_t age, bool break_huge_pages);

/* Bytes of retired objects in runs that nobody holds and that were not purged since. */
extern _Atomic size_t hz3_central_idle_bytes;
uint64_t hz3_central_retired(unsigned cls); /* objects, ever */

/* In a forked child: takes back the runs that threads of the parent were purging. */
void hz3_central_after_fork(void);
void hz3_central_each_lock(void (*visit)(struct hz3_lock *lock)); /* for fork */
#endif
