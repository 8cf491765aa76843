/* Sleepers: threads that made no slow call for a while.  What they cached goes back, but for one object of each class,
 * while they sleep, or without that where the system says that the thread is in the middle of no call.  The fast paths
 * take no part and have no fence: the visitor has the system make every running thread pass a barrier instead.
 *
 * The previous magazine belongs to slow paths, which wait for a visitor (hz3_thread_go_inside).  Of the loaded one,
 * which fast paths use at any time, only the part below the topmost object is taken, from the floor upward.  Each word
 * is exchanged for NULL, as which a malloc that comes down to it knows the floor.  A fast path is at work at `top`
 * alone; so if `top` is above a word after the barrier, and the word still NULL, no malloc has taken what was there. */
#pragma once

#include "front/thread.h"

/* Threads that made no slow call since the last time lend what they claim beyond what they hold.  Where there are many,
 * some of them at a time. */
void hz3_cache_lend(void);
/* Empties the magazines of up to `most` threads that slept for two such looks.  Inside the gate. */
void hz3_cache_empty_sleepers(unsigned most);
/* Bytes that threads claim, and that would go back if they slept: 0 in a process of one thread. */
size_t hz3_cache_held(void);

/* Under hz3_threads_lock, inside the gate: retires what the thread, another than this, has cached.  False: it was in a
 * slow path, the system has no such barrier, or a filter might forbid it; nothing has changed. */
bool hz3_sleeper_empty(struct hz3_thread *sleeper);
/* False: the processor or the system does not allow it. */
bool hz3_sleepers_can_be_emptied(void);
