/* The search for memory before a request is refused: all that is cached goes back.  A program that asks again and again
 * for what it cannot have should not pay for a search each time. */
#ifndef HZ3_RECLAIM_SEARCH_H
#define HZ3_RECLAIM_SEARCH_H

#include "base/types.h"

/* For a request that needs a span of so many bytes.  False: it did not search, since the last search found nothing, and
 * what was freed since cannot be the span: either nothing was, or a search that found nothing was a moment ago, and
 * what was freed since is less than the span and empties no run. */
bool hz3_reclaim_search(size_t bytes);
/* To be called when the request failed again after a search. */
void hz3_reclaim_search_failed(void);
#endif
