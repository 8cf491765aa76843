/* The outbox has what a thread holds beside its loaded and previous magazines: objects that wait to go home
 * (front/outgoing), and those that it freed last (HZ3_SECURE).  It is made at first need, in the magazines' area, and
 * recycled when the thread ends. */
#ifndef HZ3_MIDDLE_OUTBOX_H
#define HZ3_MIDDLE_OUTBOX_H

#include "base/layout.h"
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

extern HZ3_HIDDEN _Thread_local struct hz3_outbox *hz3_outbox; /* or NULL */

/* This thread's outbox; NULL: no memory, or the thread is not to have one. */
struct hz3_outbox *hz3_outbox_get(void);
/* Leaves an empty outbox to other threads. */
void hz3_outbox_put(struct hz3_outbox *outbox);
extern struct hz3_lock hz3_outbox_lock;            /* for fork */
extern const struct hz3_place hz3_outbox_places[]; /* for readers outside: base/layout */
#endif
