/* Reclaim by the program's own threads: after a slow path they do what is due of a pass, a slice at a time. */
#ifndef HZ3_RECLAIM_VISIT_H
#define HZ3_RECLAIM_VISIT_H

#include "front/threads.h"

void hz3_reclaim_start(uint32_t decay_ms);

/* Makes the slices of a pass that are due.  To be called now and then, with no lock held.  Returns the epoch. */
uint32_t hz3_reclaim_tick(void);

/* To be called after a slow path that found hz3_thread.due: ticks, and does what growth or a new epoch calls for. */
void hz3_reclaim_visit_slow(void);
/* This thread took so many bytes of pages that were not there, besides what its cache counts.  Inside the gate. */
void hz3_reclaim_grew(size_t bytes);
/* After a thread's end. */
void hz3_reclaim_departed(const struct hz3_departure *departure);
#endif
