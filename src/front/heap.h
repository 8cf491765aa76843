/* Which heap a thread carves from.  Heaps are few and never destroyed.  A new thread gets the one with the fewest
 * threads, so threads share a heap only if there are more threads than heaps. */
#pragma once

#include "middle/central.h"

size_t hz3_heap_usual_count(void); /* how many there are where HZ3_HEAPS does not say */

/* Counts this thread in at the heap with the fewest. */
HZ3_INLINE struct hz3_heap *hz3_heap_join(void)
{
    struct hz3_heap *best;
    unsigned least;
    do { /* the array's bound tells the compiler that one heap is no loop */
        best = &hz3_heaps[0], least = hz3_get(best->threads);
        for (unsigned i = 1; least && i < sizeof hz3_heaps / sizeof *hz3_heaps && i < hz3_heap_count; i++) {
            unsigned threads = hz3_get(hz3_heaps[i].threads);
            if (threads < least) best = &hz3_heaps[i], least = threads;
        }
    } while (!hz3_cas(best->threads, &least, least + 1, memory_order_relaxed, memory_order_relaxed));
    return best;
}

/* hz3_threads_lock is held. */
void hz3_heap_leave(struct hz3_heap *heap);
