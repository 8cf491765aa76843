/* Reclaim: memory going home.  Once per epoch it returns what the owner stashes and the
 * transfer cache did not need, purges the idle pages of runs and the free spans that have been dirty for the decay
 * time.  It runs from the slow paths of whoever comes by, an eighth of the classes at a time; and whole on hz3_collect,
 * and, when much waits to go home in a process that may never call again, in a background thread that ends when its
 * work is done. */
#ifndef HZ3_FRONT_RECLAIM_H
#define HZ3_FRONT_RECLAIM_H

#include "base/types.h"

struct hz3_lock;

void hz3_reclaim_start(uint32_t decay_ms, bool background);
/* From here on (libc is up) the background thread may be started. */
void hz3_reclaim_allow_background(void);
/* It must not be started any more: the process gave up its right to make threads. */
void hz3_reclaim_forbid_background(void);
void hz3_reclaim_after_fork(void); /* in the child */

/* Now and then, from slow paths, with no lock held: runs what is due of a pass.  Returns the epoch. */
uint32_t hz3_reclaim_tick(void);
/* The same, after the thread took so many bytes of new runs from pages that were not there: where much of the heap is
 * free objects, as many go from the transfer cache to their runs, and runs of as many bytes give back idle pages. */
#define HZ3_MAKE_UP_STEP HZ3_MIB(2)
void hz3_reclaim_make_up(size_t grown);
/* After much was freed at once: makes sure that somebody will come by. */
void hz3_reclaim_nudge(void);
/* The last thread left (it does not wait for the background thread to notice), or one joined again. */
void hz3_reclaim_nobody_left(bool nobody);
/* One pass; `force`: whatever the age.  Returns the bytes given back. */
size_t hz3_reclaim_run(bool force);

extern struct hz3_lock hz3_reclaim_lock;
#endif
