/* In the place of sparse.h: there is no ring. */
#pragma once

#include "middle/outbox.h"

HZ3_INLINE bool hz3_ring_put(struct hz3_outbox *outbox, void *p)
{
    (void)outbox, (void)p;
    return false;
}

HZ3_INLINE void *hz3_ring_overflow(struct hz3_outbox *outbox)
{
    (void)outbox;
    return NULL;
}

HZ3_INLINE unsigned hz3_ring_flush(struct hz3_outbox *outbox, unsigned budget)
{
    (void)outbox, (void)budget;
    return 0;
}

HZ3_INLINE size_t hz3_ring_objects(const struct hz3_outbox *outbox, unsigned cls)
{
    (void)outbox, (void)cls;
    return 0;
}
