/* Central: for each class the runs that nobody holds and that have room, in lists by fullness.  A refill takes the
 * fullest, so that sparse runs become empty and go back to the page pool.  Any thread may retire any object here.
 *
 * A heap is what threads take new objects from: it holds at most one run of each class.  Threads are spread over the
 * heaps; sharing one costs one short lock for each refill.
 *
 * Locks, in order: heap, class, page pool. */
#pragma once

#include "middle/magazine.h"

struct hz3_heap {
    struct hz3_lock lock;
    struct hz3_span *held[HZ3_CLASS_VALUES];      /* under lock: the run of each class that it takes objects from, or
                                                   * NULL */
    HZ3_ATOMIC(uint64_t) taken[HZ3_CLASS_VALUES]; /* objects, ever; written under lock */
    HZ3_ATOMIC(uint32_t) threads;                 /* how many use it */
    HZ3_ATOMIC(size_t) live HZ3_CACHE_ALIGNED;    /* bytes of its runs' objects that are live or cached */
} HZ3_CACHE_ALIGNED;

extern struct hz3_heap hz3_heaps[HZ3_NUM_SHARDS];
extern unsigned hz3_heap_count;               /* const after start */
extern HZ3_ATOMIC(bool) hz3_heap_lost_thread; /* one ended without its destructors: it may have left a call half done */
extern HZ3_ATOMIC(unsigned) hz3_heap_highest; /* the highest number of a heap that ever had a thread, or 0 */

HZ3_INLINE unsigned hz3_heap_number(const struct hz3_heap *heap)
{
    return (unsigned)(heap - hz3_heaps);
}

/* Whether a heap has threads.  Nothing is sent home to one without: there it would only wait to be stolen. */
HZ3_INLINE bool hz3_heap_is_in_use(unsigned heap)
{
    return hz3_get(hz3_heaps[heap].threads) > 0;
}

/* FRESH and GROWN: a new run; GROWN: its pages are fresh. */
enum hz3_refill_source { HZ3_REFILL_HELD, HZ3_REFILL_CENTRAL, HZ3_REFILL_FRESH, HZ3_REFILL_GROWN, HZ3_REFILL_NONE };

/* How many bytes of a heap's objects its owner stash may hold: 1/8 of its live bytes, at least 1 MiB. */
HZ3_INLINE size_t hz3_heap_in_flight_max(unsigned heap)
{
    return hz3_max(HZ3_MIB(1), hz3_get(hz3_heaps[heap].live) / 8);
}

/* Takes up to `want` objects of a class from the heap's run, else from another run with room, else, if `fresh`, from a
 * new run.  Returns how many (0: none, or no memory); *source: where they are from. */
unsigned hz3_central_refill(struct hz3_heap *heap, unsigned cls, void **objects, unsigned want, bool fresh,
                            enum hz3_refill_source *source);
/* Puts objects of one class back into their runs, under one lock. */
void hz3_central_retire(unsigned cls, void **objects, unsigned n);
/* Retires the objects of a closed magazine, and puts the magazine away as an empty one. */
void hz3_central_take_apart(unsigned cls, struct hz3_magazine *magazine);

/* Has the heap release its runs that have retired objects, so that they can be purged or, if empty, freed. */
void hz3_central_release_heap(struct hz3_heap *heap);
/* Purges the idle pages of the class's runs whose first retire is at least `age` ms ago; returns the bytes purged. */
size_t hz3_central_purge(unsigned cls, uint32_t age, bool break_huge_pages);
/* Does so in runs of *left bytes together, and subtracts their bytes from *left. */
size_t hz3_central_purge_some(unsigned cls, uint32_t age, size_t *left, bool break_huge_pages);

uint64_t hz3_central_retired(unsigned cls); /* objects, ever */

void hz3_central_each_lock(void (*visit)(struct hz3_lock *lock)); /* for fork */
