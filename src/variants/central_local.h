/* Local cache before central (work order S145-A): a thread that takes objects from central takes more than it needs.
 * The rest waits in its outbox for next time, as one magazine for each class. */
#ifndef HZ3_VARIANTS_CENTRAL_LOCAL_H
#define HZ3_VARIANTS_CENTRAL_LOCAL_H

#include "middle/central.h"
#include "middle/outbox.h"

enum { HZ3_CENTRAL_MORE = HZ3_S145_CENTRAL_LOCAL_CACHE ? HZ3_S145_CACHE_BATCH : 0 }; /* objects beyond the need */

struct hz3_magazine *hz3_central_local_take(unsigned cls);
void hz3_central_local_keep(unsigned cls, void **objects, unsigned n);
void hz3_central_local_flush(struct hz3_outbox *outbox);
size_t hz3_central_local_objects(const struct hz3_outbox *outbox, unsigned cls);

/* From here on for any build; without the variant nothing is kept.  Takes what was kept of the class, or NULL. */
HZ3_INLINE struct hz3_magazine *hz3_kept_take(unsigned cls)
{
    return HZ3_S145_CENTRAL_LOCAL_CACHE ? hz3_central_local_take(cls) : NULL;
}

/* Keeps what central gave beyond the need.  Nothing of the class was kept before. */
HZ3_INLINE void hz3_kept_put(unsigned cls, void **objects, unsigned n)
{
    if (HZ3_S145_CENTRAL_LOCAL_CACHE) hz3_central_local_keep(cls, objects, n);
}

HZ3_INLINE void hz3_kept_flush(struct hz3_outbox *outbox) /* retires all that was kept */
{
    if (HZ3_S145_CENTRAL_LOCAL_CACHE) hz3_central_local_flush(outbox);
}

HZ3_INLINE size_t hz3_kept_objects(const struct hz3_outbox *outbox, unsigned cls)
{
    return HZ3_S145_CENTRAL_LOCAL_CACHE ? hz3_central_local_objects(outbox, cls) : 0;
}
#endif
