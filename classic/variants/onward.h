/* What the owner stash refused goes on to the transfer cache (S42), and from there to central.  Both hold magazines, so
 * single objects wait with the sender until there are enough of their class. */
#pragma once

#include "middle/outbox.h"

/* A closed magazine that is not empty.  False: neither the transfer cache nor central has room. */
bool hz3_onward_send(unsigned cls, struct hz3_magazine *magazine);
void hz3_onward_put(struct hz3_outbox *outbox, unsigned cls, void *p);
void hz3_onward_flush(struct hz3_outbox *outbox); /* sends all that wait */
size_t hz3_onward_objects(const struct hz3_outbox *outbox, unsigned cls);
