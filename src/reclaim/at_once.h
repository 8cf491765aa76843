/* Giving back at once.  A program with one thread is to have one thread: hz3 makes none there, and the program may
 * never call again.  So the free itself gives back what waits, as often as that is paid for by the credit: each page
 * that hz3 has mapped may go back once, and beyond that giving back may take a hundredth of the time.
 *
 * Must not know which thread calls, nor why no other may be made. */
#ifndef HZ3_RECLAIM_AT_ONCE_H
#define HZ3_RECLAIM_AT_ONCE_H

#include "base/types.h"

/* To be called after frees, inside the gate, with no lock held.  now: ms, as hz3_os_now_ms. */
void hz3_reclaim_at_once(uint32_t now);
#endif
