/* In the place of src/secure/no_quarantine.h.  Free objects that a thread keeps beside its magazines, and that only its
 * end or a trim takes from it: the rest of what it drained (S48), and what it took from central for next time (S145-A).
 * No object is quarantined. */
#pragma once

#include "middle/owner_stash.h"
#include HZ3_CENTRAL_LOCAL_H

/* The bytes that were quarantined: none. */
HZ3_INLINE size_t hz3_quarantine_flush(struct hz3_outbox *outbox)
{
    if (outbox) hz3_owner_stash_flush_spill(outbox, NULL), hz3_kept_flush(outbox, NULL);
    return 0;
}

HZ3_INLINE size_t hz3_quarantine_objects(const struct hz3_outbox *outbox, unsigned cls)
{
    return hz3_owner_stash_spilled(outbox, cls) + hz3_kept_objects(outbox, cls);
}

HZ3_INLINE bool hz3_quarantine_has(const struct hz3_outbox *outbox, const void *p)
{
    (void)outbox, (void)p;
    return false;
}
