/* Which heap a thread carves from.  Heaps are few and never destroyed; a thread gets the one with the fewest
 * threads, so that only more threads than heaps share. */
#ifndef HZ3_FRONT_HEAP_H
#define HZ3_FRONT_HEAP_H

#include "middle/central.h"

struct hz3_heap *hz3_heap_join(void);
/* hz3_threads_lock is held. */
void hz3_heap_leave(struct hz3_heap *heap);
#endif
