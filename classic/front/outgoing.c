#include "front/outgoing.h"

#include "base/sizeclass.h"
#include "front/thread.h"
#include "middle/owner_stash.h"
#include "variants/flush.h"
#include "variants/onward.h"
#include HZ3_CENTRAL_LOCAL_H
#include HZ3_PAGE_LOCAL_H
#include HZ3_SPARSE_H

enum { OUTGOING_BYTES = 32 * 1024 }; /* in one outgoing magazine, but one object at least */

/* What a thread has of its own heap's objects is not sent to its own stash: that would write into them. */
bool hz3_outgoing_send(int owner, unsigned cls, struct hz3_magazine *magazine)
{
    bool others = owner != HZ3_NO_OWNER && owner != hz3_thread.cache.owner;
    return (others && hz3_owner_stash_push((unsigned)owner, cls, magazine)) || hz3_onward_send(cls, magazine);
}

static unsigned dense_capacity(unsigned cls)
{
    return (unsigned)hz3_max(1, hz3_min(OUTGOING_BYTES / hz3_class_size(cls), hz3_class_info[cls].load));
}

/* Sends the magazine of a slot, if there is one, or retires its objects.  freed: this thread is to count them as freed.
 */
static void send(void ***slot, bool freed)
{
    void **top = *slot;
    *slot = HZ3_STUB_TOP;
    if (top == HZ3_STUB_TOP) return;
    struct hz3_magazine *magazine = hz3_magazine_close(top);
    unsigned cls = magazine->header.key & 0xff, owner = magazine->header.key >> 8;
    if (freed) hz3_thread_freed(cls, hz3_magazine_count(magazine));
    if (!hz3_magazine_count(magazine)) {
        hz3_magazine_put(cls, magazine);
    } else if (!hz3_outgoing_send((int)owner, cls, magazine)) {
        hz3_central_take_apart(cls, magazine);
    }
}

/* Puts p into the slot's magazine, after what is there of another owner or class, or fills it, is sent. */
static void gather(void ***slot, unsigned key, unsigned capacity, void *p, bool freed)
{
    unsigned cls = key & 0xff;
    if (hz3_magazine_of(*slot)->header.key != key || hz3_is_full(*slot)) {
        send(slot, freed);
        struct hz3_magazine *magazine = hz3_spares_get(&hz3_thread.cache, cls);
        if (!magazine) {
            hz3_central_retire(cls, &p, 1);
            if (freed) hz3_thread_freed(cls, 1);
            return;
        }
        magazine->header.key = (uint16_t)key;
        *slot = hz3_magazine_open(magazine, capacity);
    }
    *++*slot = p;
}

/* Overflow batch (work order S146-B). */
static void gather_overflow(struct hz3_outbox *outbox, void *p)
{
    unsigned cls = hz3_class_at(p), key = hz3_outgoing_key(cls, hz3_owner_at(p));
    unsigned batch = hz3_min((unsigned)HZ3_S146_OVERFLOW_BATCH, hz3_class_info[cls].load);
    if (HZ3_OUTBOX_OVERFLOW) gather(&outbox->overflow[(key * 0x9e3779b1u >> 16) % 64], key, batch, p, false);
}

void hz3_outgoing_put(struct hz3_outbox *outbox, void *p, unsigned cls, unsigned owner)
{
    void *out = hz3_ring_overflow(outbox);
    if (out) gather_overflow(outbox, out);
    if (hz3_ring_put(outbox, p) || hz3_page_remote_free(p, cls, owner) || HZ3_OUTGOING == 0) {
        hz3_thread_freed(cls, 1);
        return;
    }
    unsigned key = hz3_outgoing_key(cls, owner);
    outbox->remote_hint = true;
    gather(hz3_outgoing_slot(outbox, key), key, dense_capacity(cls), p, true);
}

/* Sends up to `budget` of the slots' magazines; returns how many. */
static unsigned send_slots(void ***slots, unsigned n, unsigned budget, bool freed)
{
    unsigned sent = 0;
    for (unsigned i = 0; i < n && sent < budget; i++) {
        if (slots[i] == HZ3_STUB_TOP) continue;
        send(&slots[i], freed);
        sent++;
    }
    return sent;
}

void hz3_outgoing_flush_some(struct hz3_outbox *outbox, unsigned budget)
{
    if (!outbox->remote_hint) return;
    budget -= hz3_ring_flush(outbox, budget);
    budget -= send_slots(outbox->overflow, HZ3_OUTBOX_OVERFLOW, budget, false);
    budget -= send_slots(outbox->outgoing, HZ3_OUTGOING, budget, outbox == hz3_outbox);
    outbox->remote_hint = budget == 0;
}

void hz3_outgoing_flush(struct hz3_outbox *outbox)
{
    hz3_outgoing_flush_some(outbox, UINT32_MAX);
    hz3_onward_flush(outbox);
    /* What the thread keeps of classes that it has no use for; the rest is its own (secure/no_quarantine.h). */
    if (outbox != hz3_outbox) return;
    hz3_owner_stash_flush_spill(outbox, hz3_thread.cache.missed);
    hz3_kept_flush(outbox, hz3_thread.cache.missed);
}

HZ3_RACY static size_t objects_of(void **const *slots, unsigned n, unsigned cls)
{
    size_t objects = 0;
    for (unsigned i = 0; i < n; i++) {
        void **top = slots[i];
        if ((hz3_magazine_of(top)->header.key & 0xff) == cls) objects += hz3_magazine_objects(top);
    }
    return objects;
}

HZ3_RACY size_t hz3_outgoing_objects(const struct hz3_outbox *outbox, unsigned cls)
{
    return hz3_ring_objects(outbox, cls) + objects_of(outbox->outgoing, HZ3_OUTGOING, cls) +
           objects_of(outbox->overflow, HZ3_OUTBOX_OVERFLOW, cls) + hz3_onward_objects(outbox, cls);
}
