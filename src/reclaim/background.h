/* The background thread makes passes where the program's threads may never call again.  It starts when much memory
 * waits to go back, and ends when that is done. */
#pragma once

#include "base/types.h"

/* From now on the thread may be started: libc is up; or else it is not, and ends soon if it is there. */
void hz3_reclaim_allow_background(bool allow);
/* From now on it must not be started: the process gave up its right to make threads. */
void hz3_reclaim_forbid_background(void);
bool hz3_reclaim_in_background(void); /* the thread is at work */
/* Starts the thread if much memory waits.  In a program with one thread gives back at once instead.  now: ms. */
void hz3_reclaim_wake_purger(uint32_t now);
void hz3_reclaim_after_fork(void); /* in the child */
