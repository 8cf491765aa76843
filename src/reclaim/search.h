/* The search for memory before a request is refused: all that is cached goes back.  A program that asks again and again
 * for what it cannot have should not pay for a search each time. */
#ifndef HZ3_RECLAIM_SEARCH_H
#define HZ3_RECLAIM_SEARCH_H

#include "base/types.h"

/* For a request of so many bytes.  False: it did not search.  Either the request is larger than all that could be found
 * and the system has no room for the rest.  Or the last search found nothing, and since then either nothing was freed
 * for a second, as far as is known, or for 10 ms less than a run, and that emptied none. */
bool hz3_reclaim_search(size_t bytes);
/* To be called when the request failed again after a search. */
void hz3_reclaim_search_failed(void);
#endif
