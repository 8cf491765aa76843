/* Local cache before central (work order S145-A): a thread that takes objects of a small class from central takes more
 * than it needs.  The rest waits in its outbox for next time, as one magazine for each class. */
#pragma once

#include "middle/central.h"
#include "middle/outbox.h"

enum { HZ3_CENTRAL_MORE = HZ3_S145_CACHE_BATCH }; /* objects beyond the need */

/* Takes what was kept of the class, or NULL.  collision: another thread has the same shard; then what was kept goes to
 * central first, and there is nothing to take. */
struct hz3_magazine *hz3_kept_take(unsigned cls, bool collision);
/* Keeps what central gave beyond the need, of a small class.  Nothing of the class was kept before. */
void hz3_kept_put(unsigned cls, void **objects, unsigned n);
/* Gives what was kept back to central, but of classes for which `used` says so; NULL: of none. */
void hz3_kept_flush(struct hz3_outbox *outbox, const bool *used);
size_t hz3_kept_objects(const struct hz3_outbox *outbox, unsigned cls);
