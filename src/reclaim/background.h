/* The background thread: it makes the passes of a process that may never call again.  It comes when much waits to go
 * home, and ends when that is done. */
#ifndef HZ3_RECLAIM_BACKGROUND_H
#define HZ3_RECLAIM_BACKGROUND_H

#include "base/types.h"

/* At the start of the process and of a child. */
void hz3_reclaim_this_process(void);
/* From here on (libc is up) the thread may be started. */
void hz3_reclaim_allow_background(void);
/* It must not be started any more: the process gave up its right to make threads. */
void hz3_reclaim_forbid_background(void);
bool hz3_reclaim_in_background(void); /* it is at work */
/* After much was freed at once: makes sure that somebody will come by. */
void hz3_reclaim_nudge(void);
void hz3_reclaim_after_fork(void); /* in the child */
#endif
