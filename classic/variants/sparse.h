/* The sparse outbox (HZ3_REMOTE_STASH_SPARSE), as in the work orders: objects that go home wait in one ring for all
 * owners and classes, oldest first.  Functions with refused[] put objects into it that the owner stash refused, and
 * return how many. */
#ifndef HZ3_VARIANTS_SPARSE_H
#define HZ3_VARIANTS_SPARSE_H

#include "base/sizeclass.h"
#include "middle/outbox.h"

/* If the ring is full, first sends its oldest entry home or, with a sorted flush, all of them. */
unsigned hz3_sparse_put(struct hz3_outbox *outbox, void *p, void **refused);
void *hz3_sparse_take_oldest(struct hz3_outbox *outbox);
HZ3_INLINE bool hz3_sparse_is_full(const struct hz3_outbox *outbox)
{
    return outbox->ring_count == HZ3_RING;
}

/* True, where there is a ring: p is in it; *count were refused. */
HZ3_INLINE bool hz3_ring_put(struct hz3_outbox *outbox, void *p, void **refused, unsigned *count)
{
    *count = hz3_sparse_put(outbox, p, refused);
    return true;
}

/* Overflow batch: takes the oldest object out of a full ring, to be gathered; or NULL. */
HZ3_INLINE void *hz3_ring_overflow(struct hz3_outbox *outbox)
{
    return HZ3_S146_OVERFLOW_BATCH && hz3_sparse_is_full(outbox) ? hz3_sparse_take_oldest(outbox) : NULL;
}

/* Overflow batch: how many objects of a class are gathered; without it `dense`. */
HZ3_INLINE unsigned hz3_ring_batch(unsigned cls, unsigned dense)
{
    return HZ3_S146_OVERFLOW_BATCH ? hz3_min((unsigned)HZ3_S146_OVERFLOW_BATCH, hz3_class_info[cls].load) : dense;
}

HZ3_INLINE unsigned hz3_ring_count(const struct hz3_outbox *outbox)
{
    return outbox->ring_count;
}

/* Sends up to `budget` entries home. */
unsigned hz3_ring_flush(struct hz3_outbox *outbox, unsigned budget, void **refused);
size_t hz3_ring_objects(const struct hz3_outbox *outbox, unsigned cls); /* that wait */
#endif
