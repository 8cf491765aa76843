/* The sender's side of what goes home: it waits in this thread until it is worth a push to the owner's stash.  Dense:
 * an outgoing magazine for each (owner, class) in use.  Sparse (HZ3_REMOTE_STASH_SPARSE): one ring for all, oldest
 * first, as in the work orders.  Magazines that the stash refuses go to the transfer cache or to central; single
 * objects that it refuses are the caller's again. */
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

/* One object on its way home, by a thread that is in a slow path.  Returns how many objects, of any class, were
 * refused: refused[], of HZ3_REFUSED_MAX entries, has them. */
unsigned hz3_outgoing_put(struct hz3_outbox *outbox, void *p, unsigned cls, unsigned owner, void **refused);
/* The same for up to `budget` entries that wait (dense: magazines). */
unsigned hz3_outgoing_flush(struct hz3_outbox *outbox, unsigned budget, void **refused);
/* Leaves a closed magazine that is not empty to its owner, or, if that refuses or owner is HZ3_NO_OWNER, to the
 * transfer cache, or to central.  False: nobody has room for it. */
enum { HZ3_NO_OWNER = -1 };
bool hz3_outgoing_send(int owner, unsigned cls, struct hz3_magazine *magazine);
size_t hz3_outgoing_objects(const struct hz3_outbox *outbox, unsigned cls); /* that wait */
#endif
