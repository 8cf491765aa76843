/* Starting hz3.  The first call of any thread, whatever it is, falls into a slow path; those that come before
 * hz3 is up start it. */
#ifndef HZ3_API_INIT_H
#define HZ3_API_INIT_H

#include "base/types.h"

extern HZ3_ATOMIC(bool) hz3_started;
void hz3_start(void);

HZ3_INLINE void hz3_ensure_started(void)
{
    if (unlikely(!hz3_load(hz3_started, memory_order_acquire))) hz3_start();
}
#endif
