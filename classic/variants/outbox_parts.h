/* How many entries each part of an outbox has (middle/outbox.h); 0 if the build does without the part. */
#pragma once

#include "base/types.h"

enum {
    /* dense: outgoing magazines, each for the owner and class of its key */
    HZ3_OUTGOING = HZ3_REMOTE_STASH_SPARSE || HZ3_S121_PAGE_LOCAL_REMOTE ? 0 : 64,
    HZ3_RING = 64,                            /* sparse: objects on their way home, oldest first */
    HZ3_STASH_CLASSES = HZ3_SMALL_NUM_SC + 1, /* the stash is for classes 1 .. HZ3_SMALL_NUM_SC */
    HZ3_OUTBOX_OVERFLOW = HZ3_S146_OVERFLOW_BATCH ? 64 : 0,
    HZ3_OUTBOX_RING = HZ3_REMOTE_STASH_SPARSE * HZ3_RING,
    HZ3_OUTBOX_SPILL = HZ3_S48_OWNER_STASH_SPILL * HZ3_STASH_CLASSES,
    HZ3_OUTBOX_CENTRAL = HZ3_S145_CENTRAL_LOCAL_CACHE * HZ3_STASH_CLASSES,
};
