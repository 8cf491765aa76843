/* The sparse sender (HZ3_REMOTE_STASH_SPARSE), as in the work orders: what goes home waits in one ring for all owners
 * and classes, oldest first.  Functions that hand objects back return how many: the owner stash refused them, and
 * refused[] has them. */
#ifndef HZ3_VARIANTS_SPARSE_H
#define HZ3_VARIANTS_SPARSE_H

#include "base/sizeclass.h"
#include "middle/outbox.h"

/* Room is made in a full ring: its oldest entry goes, or, with S97, all of them, sorted. */
unsigned hz3_sparse_put(struct hz3_outbox *outbox, void *p, void **refused);
/* Up to `budget` entries go. */
unsigned hz3_sparse_flush(struct hz3_outbox *outbox, unsigned budget, void **refused);
void *hz3_sparse_take_oldest(struct hz3_outbox *outbox);
HZ3_INLINE bool hz3_sparse_is_full(const struct hz3_outbox *outbox)
{
    return outbox->ring_count == HZ3_RING;
}
size_t hz3_sparse_objects(const struct hz3_outbox *outbox, unsigned cls); /* that wait */

/* For any build; without the variant there is no ring.  True: p went into it, and *count objects were refused. */
HZ3_INLINE bool hz3_ring_put(struct hz3_outbox *outbox, void *p, void **refused, unsigned *count)
{
    if (!HZ3_REMOTE_STASH_SPARSE) return false;
    *count = hz3_sparse_put(outbox, p, refused);
    return true;
}

/* S146: what a full ring turns out, to be gathered; or NULL. */
HZ3_INLINE void *hz3_ring_overflow(struct hz3_outbox *outbox)
{
    return HZ3_S146_OVERFLOW_BATCH && hz3_sparse_is_full(outbox) ? hz3_sparse_take_oldest(outbox) : NULL;
}

/* S146: how many objects of a class are gathered; else `dense`. */
HZ3_INLINE unsigned hz3_ring_batch(unsigned cls, unsigned dense)
{
    return HZ3_S146_OVERFLOW_BATCH ? hz3_min((unsigned)HZ3_S146_OVERFLOW_BATCH, hz3_class_info[cls].load) : dense;
}

HZ3_INLINE unsigned hz3_ring_count(const struct hz3_outbox *outbox)
{
    return HZ3_REMOTE_STASH_SPARSE ? outbox->ring_count : 0;
}

HZ3_INLINE unsigned hz3_ring_flush(struct hz3_outbox *outbox, unsigned budget, void **refused)
{
    return HZ3_REMOTE_STASH_SPARSE ? hz3_sparse_flush(outbox, budget, refused) : 0;
}

HZ3_INLINE size_t hz3_ring_objects(const struct hz3_outbox *outbox, unsigned cls)
{
    return HZ3_REMOTE_STASH_SPARSE ? hz3_sparse_objects(outbox, cls) : 0;
}
#endif
