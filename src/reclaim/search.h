/* The search for memory before a request is refused: everything that is cached goes back to the system.  A program that
 * repeats an impossible request must not pay for a search each time. */
#pragma once

#include "base/types.h"

/* Searches for a request of `bytes`.  Returns false if it skipped the search, since (a) the request exceeds all that
 * could be found and the system has no room for the rest; (b) the last search failed less than 1 s ago and nothing has
 * been freed since; or (c) it failed less than 10 ms ago and less than one run has been freed, none of it a run's last
 * objects. */
bool hz3_reclaim_search(size_t bytes);
/* Call when the request failed again after a search. */
void hz3_reclaim_search_failed(void);
