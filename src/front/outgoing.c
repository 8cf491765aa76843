#include "front/outgoing.h"

#include "base/sizeclass.h"
#include "front/thread.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"

enum { OUTGOING_BYTES = 32 * 1024 }; /* in one outgoing magazine, but one object at least */

bool hz3_outgoing_send(int owner, unsigned cls, struct hz3_magazine *magazine)
{
    return (owner != HZ3_NO_OWNER && hz3_heap_is_in_use((unsigned)owner) &&
            hz3_owner_stash_push((unsigned)owner, cls, magazine)) ||
           hz3_transfer_push(cls, magazine);
}

bool hz3_outgoing_send_chain(int owner, unsigned cls, struct hz3_stack_chain chain)
{
    return (owner != HZ3_NO_OWNER && hz3_heap_is_in_use((unsigned)owner) &&
            hz3_owner_stash_push_chain((unsigned)owner, cls, chain)) ||
           hz3_transfer_push_chain(cls, chain);
}

/* Sends the outgoing magazine of a slot, if there is one, or retires its objects.  own: this thread freed them. */
static void send(void ***slot, bool own)
{
    void **top = *slot;
    *slot = HZ3_STUB_TOP;
    if (top == HZ3_STUB_TOP) return;
    struct hz3_magazine *magazine = hz3_magazine_close(top);
    unsigned cls = magazine->header.key & 0xff, owner = magazine->header.key >> 8;
    if (own) hz3_thread_freed(cls, hz3_magazine_count(magazine));
    if (!hz3_magazine_count(magazine)) {
        hz3_magazine_put(cls, magazine);
    } else if (!hz3_outgoing_send((int)owner, cls, magazine)) {
        hz3_central_take_apart(cls, magazine);
    }
}

void hz3_outgoing_put(struct hz3_outbox *outbox, void *p, unsigned cls, unsigned owner)
{
    outbox->remote_hint = true;
    unsigned key = hz3_outgoing_key(cls, owner);
    void ***slot = hz3_outgoing_slot(outbox, key);
    if (hz3_magazine_of(*slot)->header.key != key || hz3_is_full(*slot)) {
        send(slot, true);
        struct hz3_magazine *magazine = hz3_spares_get(&hz3_thread.cache, cls);
        if (!magazine) {
            hz3_thread_retire(p, cls);
            return;
        }
        magazine->header.key = (uint16_t)key;
        size_t room = hz3_min(OUTGOING_BYTES / hz3_class_size(cls), hz3_class_info[cls].load);
        *slot = hz3_magazine_open(magazine, (unsigned)hz3_max(room, 1));
    }
    *++*slot = p;
}

void hz3_outgoing_flush(struct hz3_outbox *outbox)
{
    if (!outbox->remote_hint) return;
    for (unsigned i = 0; i < HZ3_OUTGOING; i++)
        if (outbox->outgoing[i] != HZ3_STUB_TOP) send(&outbox->outgoing[i], outbox == hz3_outbox);
    outbox->remote_hint = false;
}

HZ3_RACY size_t hz3_outgoing_objects(const struct hz3_outbox *outbox, unsigned cls)
{
    size_t objects = 0;
    for (unsigned i = 0; i < HZ3_OUTGOING; i++) {
        void **top = outbox->outgoing[i];
        if ((hz3_magazine_of(top)->header.key & 0xff) == cls) objects += hz3_magazine_objects(top);
    }
    return objects;
}
