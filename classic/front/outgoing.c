#include "front/outgoing.h"

#include "base/sizeclass.h"
#include "front/spares.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include HZ3_CENTRAL_LOCAL_H
#include HZ3_CENTRAL_MAGAZINES_H
#include HZ3_PAGE_LOCAL_H
#include HZ3_SPARSE_H

enum { OUTGOING_BYTES = 32 * 1024 }; /* in one outgoing magazine, but one object at least */

bool hz3_outgoing_send(int owner, unsigned cls, struct hz3_magazine *magazine)
{
    return (owner != HZ3_NO_OWNER && hz3_heap_is_in_use((unsigned)owner) &&
            hz3_owner_stash_push((unsigned)owner, cls, magazine)) ||
           hz3_transfer_push(cls, magazine) || hz3_central_put_magazine(cls, magazine);
}

static unsigned capacity_of(unsigned cls)
{
    unsigned dense = (unsigned)hz3_max(1, hz3_min(OUTGOING_BYTES / hz3_class_size(cls), hz3_class_info[cls].load));
    return hz3_ring_batch(cls, dense);
}

/* Sends the outgoing magazine of a slot, if there is one, or retires its objects. */
static void send(void ***slot)
{
    void **top = *slot;
    *slot = HZ3_STUB_TOP;
    if (top == HZ3_STUB_TOP) return;
    struct hz3_magazine *magazine = hz3_magazine_close(top);
    unsigned cls = magazine->header.key & 0xff, owner = magazine->header.key >> 8;
    if (!hz3_magazine_count(magazine)) {
        hz3_magazine_put(cls, magazine);
    } else if (!hz3_outgoing_send((int)owner, cls, magazine)) {
        hz3_central_take_apart(cls, magazine);
    }
}

static void gather(struct hz3_outbox *outbox, void *p, unsigned cls, unsigned owner)
{
    outbox->remote_hint = true;
    unsigned key = hz3_outgoing_key(cls, owner);
    void ***slot = hz3_outgoing_slot(outbox, key);
    if (hz3_magazine_of(*slot)->header.key != key || hz3_is_full(*slot)) {
        send(slot);
        struct hz3_magazine *magazine = hz3_spares_get(&hz3_thread.cache, cls);
        if (!magazine) {
            hz3_central_retire(cls, &p, 1);
            return;
        }
        magazine->header.key = (uint16_t)key;
        *slot = hz3_magazine_open(magazine, capacity_of(cls));
    }
    *++*slot = p;
}

unsigned hz3_outgoing_put(struct hz3_outbox *outbox, void *p, unsigned cls, unsigned owner, void **refused)
{
    unsigned count = 0;
    void *out = hz3_ring_overflow(outbox);
    if (out) gather(outbox, out, hz3_class_at(out), hz3_owner_at(out));
    if (!hz3_ring_put(outbox, p, refused, &count) && !hz3_page_remote_free(p, cls, owner))
        gather(outbox, p, cls, owner);
    return count;
}

unsigned hz3_outgoing_flush(struct hz3_outbox *outbox, unsigned budget, void **refused)
{
    if (!outbox->remote_hint) return 0;
    unsigned waited = hz3_ring_count(outbox), count = hz3_ring_flush(outbox, budget, refused);
    unsigned left = budget - (waited - hz3_ring_count(outbox));
    for (unsigned i = 0; i < HZ3_OUTBOX_OUTGOING && left; i++) {
        if (outbox->outgoing[i] == HZ3_STUB_TOP) continue;
        send(&outbox->outgoing[i]);
        left--;
    }
    outbox->remote_hint = left == 0;
    return count;
}

HZ3_RACY size_t hz3_outgoing_objects(const struct hz3_outbox *outbox, unsigned cls)
{
    /* The list of threads asks for nothing else in an outbox. */
    size_t objects =
        hz3_ring_objects(outbox, cls) + hz3_owner_stash_spilled(outbox, cls) + hz3_kept_objects(outbox, cls);
    for (unsigned i = 0; i < HZ3_OUTBOX_OUTGOING; i++) {
        void **top = outbox->outgoing[i];
        if ((hz3_magazine_of(top)->header.key & 0xff) == cls) objects += hz3_magazine_objects(top);
    }
    return objects;
}
