/* Objects that go home wait with the sender until they are worth a push to the owner's stash.  Dense: in an outgoing
 * magazine for each owner and class in use.  Sparse (HZ3_REMOTE_STASH_SPARSE): in one ring for all, oldest first, as in
 * the work orders.  Magazines that the stash refuses go to the transfer cache or to central; single objects that it
 * refuses are handed back to the caller. */
#ifndef HZ3_FRONT_OUTGOING_H
#define HZ3_FRONT_OUTGOING_H

#include "middle/outbox.h"

HZ3_INLINE unsigned hz3_outgoing_key(unsigned cls, unsigned owner)
{
    return owner << 8 | cls;
}

HZ3_INLINE void ***hz3_outgoing_slot(struct hz3_outbox *outbox, unsigned key)
{
    return &outbox->outgoing[(key * 0x9e3779b1u >> 16) % HZ3_OUTGOING];
}

/* Puts an object on its way home, in a slow path.  Returns how many objects, of any class, were refused; refused[], of
 * HZ3_REFUSED_MAX entries, has them. */
unsigned hz3_outgoing_put(struct hz3_outbox *outbox, void *p, unsigned cls, unsigned owner, void **refused);
/* Sends up to `budget` entries that wait (dense: magazines); returns the same. */
unsigned hz3_outgoing_flush(struct hz3_outbox *outbox, unsigned budget, void **refused);
/* Pushes a closed magazine that is not empty to its owner's stash.  If that refuses, or owner is HZ3_NO_OWNER, it goes
 * to the transfer cache, or to central.  False: none of them has room. */
enum { HZ3_NO_OWNER = -1 };
bool hz3_outgoing_send(int owner, unsigned cls, struct hz3_magazine *magazine);
size_t hz3_outgoing_objects(const struct hz3_outbox *outbox, unsigned cls); /* that wait */
#endif
