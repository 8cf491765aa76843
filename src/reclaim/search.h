/* The search for memory before a request is refused: everything that is cached goes home.  A program that asks again
 * and again for what it cannot have is not to pay for one each time. */
#ifndef HZ3_RECLAIM_SEARCH_H
#define HZ3_RECLAIM_SEARCH_H

#include "base/types.h"

/* False: not worth it, since the last search found nothing, a short while ago, and nothing was freed since. */
bool hz3_reclaim_search(void);
/* After one: the request failed all the same. */
void hz3_reclaim_search_failed(void);
#endif
