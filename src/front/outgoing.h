/* Objects that go home wait with the sender, in an outgoing magazine for each owner and class in use, until they are
 * worth a push to the owner's stash.  Magazines that the stash refuses go to the transfer cache, or are taken apart. */
#pragma once

#include "middle/outbox.h"

HZ3_INLINE unsigned hz3_outgoing_key(unsigned cls, unsigned owner)
{
    return owner << 8 | cls;
}

HZ3_INLINE void ***hz3_outgoing_slot(struct hz3_outbox *outbox, unsigned key)
{
    return &outbox->outgoing[(key * 0x9e3779b1u >> 16) % hz3_max(HZ3_OUTGOING, 1)];
}

/* Puts an object on its way home, in a slow path. */
void hz3_outgoing_put(struct hz3_outbox *outbox, void *p, unsigned cls, unsigned owner);
void hz3_outgoing_flush(struct hz3_outbox *outbox); /* sends all that wait */
/* Pushes a closed magazine that is not empty to its owner's stash.  If that refuses, or owner is HZ3_NO_OWNER, it goes
 * to the transfer cache.  False: none of them has room. */
enum { HZ3_NO_OWNER = -1 };
bool hz3_outgoing_send(int owner, unsigned cls, struct hz3_magazine *magazine);
bool hz3_outgoing_send_chain(int owner, unsigned cls, struct hz3_stack_chain chain); /* the same for all of a chain */
size_t hz3_outgoing_objects(const struct hz3_outbox *outbox, unsigned cls);          /* that wait */
