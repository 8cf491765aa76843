/* Which heap a thread carves from.  Heaps are few and never destroyed.  A new thread gets the one with the fewest
 * threads, so threads share a heap only if there are more threads than heaps. */
#ifndef HZ3_FRONT_HEAP_H
#define HZ3_FRONT_HEAP_H

#include "middle/central.h"

/* At start: the option.  0: by the number of processors.  Until a thread joins that would have to share a heap with
 * another, the system is not asked for that. */
void hz3_heap_start(size_t count);
unsigned hz3_heap_settle(void); /* asks, if need be; returns how many there may be */
/* For both, hz3_threads_lock is held. */
struct hz3_heap *hz3_heap_join(void);
void hz3_heap_leave(struct hz3_heap *heap);
#endif
