/* How much reclaim could give back, and whether it must do so at once. */
#pragma once

#include "base/types.h"

/* Bytes that could go back: in free spans, and in free objects in runs, shared caches and stashes. */
size_t hz3_reclaim_waiting(void);
/* Upper bound of what a search could give back, in bytes: everything that is free or in runs, including what no gauge
 * counts as free, such as objects in magazines. */
size_t hz3_reclaim_at_most(void);
/* Whether memory is above the soft limit and more than a 32nd of the limit could go back.  Counts all that waits, where
 * hz3_pages_over_limit counts pages only. */
bool hz3_reclaim_over_limit(void);
/* Whether growth should retire cached objects and purge runs: more of them is free than the growth bound allows, and
 * purging runs would not break huge pages. */
bool hz3_reclaim_grows_beside_free(void);
