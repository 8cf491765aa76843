/* The outbox has what a thread holds beside its loaded and previous magazines: objects that go home (front/outgoing)
 * and, in lane secure, those it freed last.  It is made at first need, in the magazines' area, and reused after the
 * thread ends. */
#pragma once

#include "middle/magazine.h"

enum {
    HZ3_OUTGOING = 64,
    HZ3_WAITING = 64, /* secure: freed objects that may not be used again yet */
    HZ3_OUTBOX_WAITING = HZ3_SECURE * HZ3_WAITING,
};

struct hz3_outbox {
    void *
        *outgoing[HZ3_OUTGOING]; /* tops of magazines, each for the owner and class that its key names, or the stub's */
    bool remote_hint;            /* an object waits to go home */
    void *waiting[HZ3_OUTBOX_WAITING]; /* objects, or NULL */
    uint32_t waited;                   /* how many ever began to wait, wrapping */
};

HZ3_INLINE void hz3_outbox_clear(struct hz3_outbox *outbox)
{
    *outbox = (struct hz3_outbox){.remote_hint = false};
    for (int i = 0; i < HZ3_OUTGOING; i++) outbox->outgoing[i] = HZ3_STUB_TOP;
}

/* Beside `outgoing`, in the layout. */
#define HZ3_OUTBOX_PLACES HZ3_FIELD("outbox.waiting", struct hz3_outbox, waiting),

extern HZ3_HIDDEN _Thread_local struct hz3_outbox *hz3_outbox; /* or NULL */

/* Returns this thread's outbox, and makes one if need be.  NULL: no memory, or the thread must not have one. */
struct hz3_outbox *hz3_outbox_get(void);
/* Puts an empty outbox away for other threads. */
void hz3_outbox_put(struct hz3_outbox *outbox);
extern struct hz3_lock hz3_outbox_lock; /* for fork */
