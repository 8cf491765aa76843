/* Refill: where a malloc looks when both magazines of its class are empty.  In this order: what others left for this
 * heap, a whole magazine, a run with room, what waits for other owners, a new run. */
#ifndef HZ3_FRONT_REFILL_H
#define HZ3_FRONT_REFILL_H

#include "front/thread.h"

/* Fills the loaded magazine of a class that has capacity, inside a slow path.  False: there is no memory. */
bool hz3_refill(struct hz3_thread *self, unsigned cls);
/* The same without a lock.  False: there is nothing without one. */
bool hz3_refill_during_fork(struct hz3_thread *self, unsigned cls);
#endif
