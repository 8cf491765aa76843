/* HZ3_SECURE: a freed object waits in a ring of its thread's outbox until the thread has freed 64 more, of any class.
 * Only then may it be used again. */
#pragma once

#include "middle/outbox.h"

/* Puts the object p into the ring, and takes out the oldest one or NULL.  If another thread forks at this moment, no
 * object is in the child's copy twice. */
HZ3_INLINE void *hz3_quarantine_pass(struct hz3_outbox *outbox, void *p)
{
    void **place = &outbox->waiting[outbox->waited++ % HZ3_WAITING], *out = *place;
    *place = p;
    return out;
}

/* Ends the process if the free object p was written to. */
void hz3_quarantine_look(const void *p, unsigned cls);
/* Checks all objects that wait, and retires them: so many bytes.  The outbox may be NULL. */
size_t hz3_quarantine_flush(struct hz3_outbox *outbox);
/* Objects of the class that wait. */
size_t hz3_quarantine_objects(const struct hz3_outbox *outbox, unsigned cls);
/* Whether p waits there.  The outbox may be NULL. */
bool hz3_quarantine_has(const struct hz3_outbox *outbox, const void *p);
