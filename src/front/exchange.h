/* Exchanges of magazines that need no lock, and so do not pass the gate: the loaded magazine of a class for the
 * previous one, or either for one that threads share.  The slow paths try these first; if they return nothing,
 * front/cache does the rest.
 *
 * What holds for a class for a while is not decided at each exchange: one in 32 takes the whole slow path, which sets
 * the class's capacity and route and makes reclaim due; and so does one in 256 magazines loaded of those stored. */
#pragma once

#include "front/thread.h"

/* For a malloc that found the loaded magazine empty.  Returns an object, or NULL: the slow path is needed.  Any thread
 * may call it at any time. */
void *hz3_exchange_malloc(unsigned cls);
/* For a free that found the loaded magazine full.  p is a live object of the class that this thread may cache; it is
 * marked as freed.  False: p was not taken, and the slow path is needed. */
bool hz3_exchange_free(void *p, unsigned cls);
