/* How many entries each part of an outbox has (middle/outbox.h); 0 if the build does without the part. */
#ifndef HZ3_VARIANTS_OUTBOX_PARTS_H
#define HZ3_VARIANTS_OUTBOX_PARTS_H

#include "base/types.h"

enum {
    HZ3_OUTGOING = 64,
    HZ3_WAITING = 64,    /* secure: freed objects that may not be used again yet */
    HZ3_SPILL_OBJS = 30, /* objects, but no more than a magazine of the class holds; in the other transport: */
    HZ3_SPILL_MAGAZINES = 2,
    HZ3_OUTBOX_SPILL = HZ3_S48_OWNER_STASH_SPILL * HZ3_CLASS_VALUES,
    HZ3_OUTBOX_WAITING = HZ3_SECURE * HZ3_WAITING,
};
#endif
