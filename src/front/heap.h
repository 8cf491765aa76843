/* Which heap a thread carves from.  Heaps are few and never destroyed.  A new thread gets the one with the fewest
 * threads, so threads share a heap only if there are more threads than heaps. */
#pragma once

#include "middle/central.h"

size_t hz3_heap_usual_count(void); /* how many there are where HZ3_HEAPS does not say */
struct hz3_heap *hz3_heap_join(void);
/* hz3_threads_lock is held. */
void hz3_heap_leave(struct hz3_heap *heap);
