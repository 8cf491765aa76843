/* The part of none.h that lane classic has another file for: no object waits after its free. */
#pragma once

#include "base/types.h"

struct hz3_outbox;
HZ3_INLINE size_t hz3_quarantine_flush(struct hz3_outbox *outbox)
{
    (void)outbox;
    return 0;
}

HZ3_INLINE size_t hz3_quarantine_objects(const struct hz3_outbox *outbox, unsigned cls)
{
    (void)outbox, (void)cls;
    return 0;
}

HZ3_INLINE bool hz3_quarantine_has(const struct hz3_outbox *outbox, const void *p)
{
    (void)outbox, (void)p;
    return false;
}
