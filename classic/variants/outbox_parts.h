/* How many entries each part of an outbox has (middle/outbox.h); 0 if the build does without the part. */
#ifndef HZ3_VARIANTS_OUTBOX_PARTS_H
#define HZ3_VARIANTS_OUTBOX_PARTS_H

#include "base/types.h"

enum {
    HZ3_OUTGOING = 64,   /* dense: outgoing magazines, each for the owner and class that its key names */
    HZ3_WAITING = 64,    /* secure: freed objects that may not be used again yet */
    HZ3_RING = 64,       /* sparse: objects on their way home, oldest first */
    HZ3_SPILL_OBJS = 30, /* objects, but no more than a magazine of the class holds; in the other transport: */
    HZ3_SPILL_MAGAZINES = 2,
    HZ3_OUTBOX_SPILL = HZ3_S48_OWNER_STASH_SPILL * HZ3_CLASS_VALUES,
    HZ3_OUTBOX_CENTRAL = HZ3_S145_CENTRAL_LOCAL_CACHE * HZ3_CLASS_VALUES,
    HZ3_OUTBOX_OUTGOING =
        HZ3_S121_PAGE_LOCAL_REMOTE || (HZ3_REMOTE_STASH_SPARSE && !HZ3_S146_OVERFLOW_BATCH) ? 0 : HZ3_OUTGOING,
    HZ3_OUTBOX_RING = HZ3_REMOTE_STASH_SPARSE * HZ3_RING,
    HZ3_OUTBOX_WAITING = HZ3_SECURE * HZ3_WAITING,
    HZ3_REFUSED_MAX = HZ3_REMOTE_STASH_SPARSE ? HZ3_RING : 1, /* objects that one call may hand back as refused */
};
#endif
