/* The outbox has what a thread holds beside its loaded and previous magazines: objects that wait to go home
 * (front/outgoing) or were refused there (variants/onward), the rest of what it drained (variants/linked), and what it
 * took from central for next time (variants/central_local).  It is made at first need, in the magazines' area, and
 * recycled when the thread ends. */
#pragma once

#include "middle/magazine.h"
#include "variants/outbox_parts.h"

/* The rest of a drain, for one class: the array is used before the list. */
struct hz3_spill {
    struct hz3_magazine *array; /* HZ3_S67_SPILL_ARRAY: word[1] .. word[in_array] are objects; or NULL */
    void *list;                 /* linked objects, or NULL */
    uint32_t in_array, in_list;
};

struct hz3_outbox {
    /* Tops of magazines, or the stub's. */
    void **outgoing[HZ3_OUTGOING];
    void **overflow[HZ3_OUTBOX_OVERFLOW];
    void **onward[HZ3_CLASS_VALUES]; /* each for its class */
    void *ring[HZ3_OUTBOX_RING];
    uint32_t ring_first, ring_count;
    bool remote_hint; /* an object waits to go home */
    struct hz3_spill spill[HZ3_OUTBOX_SPILL];
    struct hz3_magazine *central[HZ3_OUTBOX_CENTRAL]; /* closed, or NULL */
};

HZ3_INLINE void hz3_outbox_clear(struct hz3_outbox *outbox)
{
    *outbox = (struct hz3_outbox){.ring_count = 0};
    for (int i = 0; i < HZ3_OUTGOING; i++) outbox->outgoing[i] = HZ3_STUB_TOP;
    for (int i = 0; i < HZ3_OUTBOX_OVERFLOW; i++) outbox->overflow[i] = HZ3_STUB_TOP;
    for (int i = 0; i < HZ3_CLASS_VALUES; i++) outbox->onward[i] = HZ3_STUB_TOP;
}

/* Beside `outgoing`, in the layout. */
#define HZ3_OUTBOX_PLACES \
    HZ3_FIELD("outbox.overflow", struct hz3_outbox, overflow), HZ3_FIELD("outbox.onward", struct hz3_outbox, onward), \
        HZ3_FIELD("outbox.ring", struct hz3_outbox, ring), \
        HZ3_FIELD("outbox.ring_first", struct hz3_outbox, ring_first), \
        HZ3_FIELD("outbox.ring_count", struct hz3_outbox, ring_count), \
        HZ3_FIELD("outbox.spill", struct hz3_outbox, spill), HZ3_FIELD("outbox.central", struct hz3_outbox, central), \
        HZ3_NUMBER("spill.size", sizeof(struct hz3_spill)), HZ3_FIELD("spill.in_array", struct hz3_spill, in_array), \
        HZ3_FIELD("spill.in_list", struct hz3_spill, in_list),

extern HZ3_HIDDEN _Thread_local struct hz3_outbox *hz3_outbox; /* or NULL */

/* This thread's outbox; NULL: no memory, or the thread is not to have one. */
struct hz3_outbox *hz3_outbox_get(void);
/* Leaves an empty outbox to other threads. */
void hz3_outbox_put(struct hz3_outbox *outbox);
extern struct hz3_lock hz3_outbox_lock; /* for fork */
