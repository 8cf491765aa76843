/* In the place of central_local.h: nothing is kept. */
#pragma once

#include "middle/outbox.h"

enum { HZ3_CENTRAL_MORE = 0 };

HZ3_INLINE struct hz3_magazine *hz3_kept_take(unsigned cls, bool collision)
{
    (void)cls, (void)collision;
    return NULL;
}

HZ3_INLINE void hz3_kept_put(unsigned cls, void **objects, unsigned n)
{
    (void)cls, (void)objects, (void)n;
}

HZ3_INLINE void hz3_kept_flush(struct hz3_outbox *outbox, const bool *used)
{
    (void)outbox, (void)used;
}

HZ3_INLINE size_t hz3_kept_objects(const struct hz3_outbox *outbox, unsigned cls)
{
    (void)outbox, (void)cls;
    return 0;
}
