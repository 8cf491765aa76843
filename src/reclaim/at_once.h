/* Giving back at once, in a program with one thread.  hz3 starts no thread there, and the program may never call again,
 * so the free itself purges what waits.  An account bounds the cost: each page that hz3 has mapped may go back once;
 * beyond that, HZ3_RETAIN_SHARE of the processor time.
 *
 * Must not know which thread calls, nor why no other may be started. */
#pragma once

#include "base/types.h"

/* Call after frees, inside the gate, with no lock held. now: ms, as hz3_os_now_ms. */
void hz3_reclaim_at_once(uint32_t now);
