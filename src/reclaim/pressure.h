/* How much reclaim could give back, and whether it has to do so at once. */
#ifndef HZ3_RECLAIM_PRESSURE_H
#define HZ3_RECLAIM_PRESSURE_H

#include "base/types.h"

/* Bytes that wait to go back: free spans, and free objects in runs, shared caches and stashes. */
size_t hz3_reclaim_waiting(void);
/* Bytes that a search could give back, at most: all that is free or in runs, also what no gauge knows to be free, such
 * as what is in magazines. */
size_t hz3_reclaim_at_most(void);
/* hz3_pages_pressed, but with all that waits and not only pages. */
bool hz3_reclaim_pressed(void);
/* Whether growth should give back first: much of what is in use are free objects, and the system does not make huge
 * pages everywhere, which purging runs would break. */
bool hz3_reclaim_grows_in_vain(void);
#endif
