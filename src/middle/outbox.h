/* What a thread holds beside its loaded and previous magazines, in the builds that hold something: what waits to go
 * home (front/remote_free), what it drained beyond its need (S48, S67), what it took from central for next time
 * (S145).  Made at first need, out of the magazines' area; recycled when the thread ends. */
#ifndef HZ3_MIDDLE_OUTBOX_H
#define HZ3_MIDDLE_OUTBOX_H

#include "middle/magazine.h"

enum {
    HZ3_OUTGOING = 64,   /* dense: outgoing magazines, each for the one owner and class its key names */
    HZ3_RING = 64,       /* sparse: objects on their way, oldest first */
    HZ3_SPILL_OBJS = 30, /* objects, or as many as a magazine of the class holds; with magazines: */
    HZ3_SPILL_MAGAZINES = 2,
    HZ3_OUTBOX_SPILL = HZ3_S48_OWNER_STASH_SPILL ? HZ3_BINS : 0,
    HZ3_OUTBOX_CENTRAL = HZ3_S145_CENTRAL_LOCAL_CACHE ? HZ3_BINS : 0,
    HZ3_OUTBOX_OUTGOING =
        HZ3_S121_PAGE_LOCAL_REMOTE || (HZ3_REMOTE_STASH_SPARSE && !HZ3_S146_OVERFLOW_BATCH) ? 0 : HZ3_OUTGOING,
    HZ3_OUTBOX_RING = HZ3_REMOTE_STASH_SPARSE ? HZ3_RING : 0,
};

/* S48, for one class: magazines linked by their headers; or one magazine (S67); or linked objects. */
struct hz3_spill {
    void *first;
    uint32_t count; /* of magazines or objects */
};

struct hz3_outbox {
    void **outgoing[HZ3_OUTBOX_OUTGOING]; /* tops of magazines, or the stub's */
    void *ring[HZ3_OUTBOX_RING];
    uint32_t ring_first, ring_count;
    bool remote_hint; /* something waits to go home */
    struct hz3_spill spill[HZ3_OUTBOX_SPILL];
    struct hz3_magazine *central[HZ3_OUTBOX_CENTRAL]; /* closed, or NULL */
};

extern HZ3_HIDDEN _Thread_local struct hz3_outbox *hz3_outbox; /* or NULL */

/* This thread's; NULL: no memory, or the thread is not to have one. */
struct hz3_outbox *hz3_outbox_get(void);
/* Makes an empty outbox somebody else's. */
void hz3_outbox_put(struct hz3_outbox *outbox);
extern struct hz3_lock hz3_outbox_lock; /* for fork */
#endif
