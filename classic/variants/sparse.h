/* The sparse outbox (HZ3_REMOTE_STASH_SPARSE), as in the work orders: objects that go home wait in one ring for all
 * owners and classes, oldest first. */
#pragma once

#include "middle/outbox.h"

/* True, where there is a ring: p is in it.  If it was full, its oldest entry went home first. */
bool hz3_ring_put(struct hz3_outbox *outbox, void *p);
void *hz3_ring_take_oldest(struct hz3_outbox *outbox);
/* Overflow batch: takes the oldest object out of a full ring, to be gathered; or NULL. */
HZ3_INLINE void *hz3_ring_overflow(struct hz3_outbox *outbox)
{
    return HZ3_S146_OVERFLOW_BATCH && outbox->ring_count == HZ3_RING ? hz3_ring_take_oldest(outbox) : NULL;
}

/* Sends up to `budget` entries home; returns how many. */
unsigned hz3_ring_flush(struct hz3_outbox *outbox, unsigned budget);
size_t hz3_ring_objects(const struct hz3_outbox *outbox, unsigned cls); /* that wait */
