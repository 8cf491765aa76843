/* Reclaim by the program's own threads: after a slow path they make the slices of a pass that are due. */
#pragma once

#include "front/threads.h"

void hz3_reclaim_start(uint32_t decay_ms);

/* Makes the slices of a pass that are due, and starts the background thread if it has work.  Call in slow paths and
 * frees of large blocks, inside the gate, with no lock held.  Returns the epoch. */
uint32_t hz3_reclaim_tick(void);

/* Call after a slow path if hz3_thread.due is set: ticks, and does what growth or a new epoch calls for. */
void hz3_reclaim_visit_slow(void);
/* Reports `bytes` of fresh (never resident) pages that this thread just took outside its cache.  May purge as many.
 * Call inside the gate. */
void hz3_reclaim_grew(size_t bytes);
/* Call after hz3_threads_leave: gives back what the thread's end leaves nobody to give back. */
void hz3_reclaim_thread_left(const struct hz3_thread_end *end);
