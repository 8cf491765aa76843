/* The sparse sender (HZ3_REMOTE_STASH_SPARSE), as in the work orders: what goes home waits in one ring for all owners
 * and classes, oldest first.  Functions that hand objects back return how many: the owner stash refused them, and
 * refused[] has them. */
#ifndef HZ3_VARIANTS_SPARSE_H
#define HZ3_VARIANTS_SPARSE_H

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
#endif
