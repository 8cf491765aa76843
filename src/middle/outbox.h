/* The outbox has what a thread holds beside its loaded and previous magazines: objects that wait to go home
 * (front/remote_free), some that it drained beyond its need, some that it took from central for next time, and those
 * that it freed last (HZ3_SECURE).  It is made at first need, in the magazines' area, and recycled when the thread
 * ends. */
#ifndef HZ3_MIDDLE_OUTBOX_H
#define HZ3_MIDDLE_OUTBOX_H

#include "base/layout.h"
#include "middle/magazine.h"
#include "variants/outbox_parts.h"

/* The rest of a drain, for one class: linked magazines; in the list transport linked objects, or a magazine of them. */
struct hz3_spill {
    void *first;
    uint32_t count; /* of magazines or objects */
};

struct hz3_outbox {
    void *
        *outgoing[HZ3_OUTGOING]; /* tops of magazines, each for the owner and class that its key names, or the stub's */
    bool remote_hint;            /* an object waits to go home */
    struct hz3_spill spill[HZ3_OUTBOX_SPILL];
    void *waiting[HZ3_OUTBOX_WAITING];                /* objects, or NULL */
    uint32_t waited;                                  /* how many ever began to wait, wrapping */
};

extern HZ3_HIDDEN _Thread_local struct hz3_outbox *hz3_outbox; /* or NULL */

/* This thread's outbox; NULL: no memory, or the thread is not to have one. */
struct hz3_outbox *hz3_outbox_get(void);
/* Leaves an empty outbox to other threads. */
void hz3_outbox_put(struct hz3_outbox *outbox);
extern struct hz3_lock hz3_outbox_lock;            /* for fork */
extern const struct hz3_place hz3_outbox_places[]; /* for readers outside: base/layout */
#endif
