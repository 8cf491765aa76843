/* A look at what is due, by whoever comes by in a slow path: an eighth of the classes at a time. */
#ifndef HZ3_RECLAIM_VISIT_H
#define HZ3_RECLAIM_VISIT_H

#include "front/threads.h"

void hz3_reclaim_start(uint32_t decay_ms);

/* Now and then, with no lock held: runs what is due of a pass.  Returns the epoch. */
uint32_t hz3_reclaim_tick(void);

/* After a slow path of this thread's cache that found hz3_thread.due: a tick, and what follows from it and from growth.
 */
void hz3_reclaim_visit_slow(void);
/* This thread took so many bytes of pages that were not there, beside what its cache counts: inside the gate. */
void hz3_reclaim_grew(size_t bytes);
/* After a thread's end. */
void hz3_reclaim_departed(const struct hz3_departure *departure);
#endif
