/* What reclaim could give back, and whether it has to at once. */
#ifndef HZ3_RECLAIM_PRESSURE_H
#define HZ3_RECLAIM_PRESSURE_H

#include "base/types.h"

/* Bytes that wait: free spans, and what lies free in runs, caches and stashes. */
size_t hz3_reclaim_waiting(void);
/* As hz3_pages_pressed, for what waits above the pages too. */
bool hz3_reclaim_pressed(void);
/* Whether the heap should not grow before more of it goes back: much of it is free objects, and purging runs breaks no
 * huge page. */
bool hz3_reclaim_grows_in_vain(void);
#endif
