#include "front/outgoing.h"

#include "base/sizeclass.h"
#include "front/spares.h"
#include "middle/owner_stash.h"
#include "middle/page_remote.h"
#include "middle/transfer_cache.h"

enum { OUTGOING_BYTES = 32 * 1024 }; /* in one outgoing magazine, but one object at least */

/* What is sent to a heap without threads would only wait for a thief. */
static bool anybody_home(unsigned owner)
{
    return hz3_get(hz3_heaps[owner].threads) > 0;
}

bool hz3_outgoing_send(int owner, unsigned cls, struct hz3_magazine *magazine)
{
    return (owner != HZ3_NO_OWNER && anybody_home((unsigned)owner) &&
            hz3_owner_stash_push_magazine((unsigned)owner, cls, magazine)) ||
           hz3_transfer_push(cls, magazine) || hz3_central_put_magazine(cls, magazine);
}

/* ---- dense ---- */

static unsigned capacity_of(unsigned cls)
{
    if (HZ3_S146_OVERFLOW_BATCH) return hz3_min(HZ3_S146_OVERFLOW_BATCH, hz3_class_info[cls].load);
    return hz3_max(1, hz3_min(OUTGOING_BYTES / hz3_class_size(cls), hz3_class_info[cls].load));
}

/* Ends an outgoing magazine, if there is one: it is sent, or its objects are retired. */
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
        struct hz3_magazine *magazine = hz3_spares_get(&hz3_thread.bins, cls);
        if (!magazine) {
            hz3_central_retire(cls, &p, 1);
            return;
        }
        magazine->header.key = (uint16_t)key;
        *slot = hz3_magazine_open(magazine, capacity_of(cls));
    }
    *++*slot = p;
}

/* ---- sparse ---- */

/* Returns how many were refused: none, or all, which are in refused[] then.  The same for all below. */
static unsigned push_list(void *head, void *tail, unsigned n, unsigned cls, unsigned owner, void **refused)
{
    bool pushed = anybody_home(owner) && (n == 1 ? hz3_owner_stash_push_one(owner, cls, head)
                                                 : hz3_owner_stash_push_list(owner, cls, head, tail, n));
    if (pushed) return 0;
    void *p = head;
    for (unsigned i = 0; i < n; i++, p = *(void **)p) refused[i] = p; /* after the last one: whatever it holds */
    return n;
}

/* S97: one push for all of the *n entries that have the first one's owner and class; *n: how many are left. */
static unsigned push_bucket(void **entry, unsigned *n, void **refused)
{
    unsigned cls = hz3_class_at(entry[0]), owner = hz3_owner_at(entry[0]), left = 0, count = 1;
    void *tail = entry[0], *head = entry[0];
    for (unsigned i = 1; i < *n; i++) {
        if (count == hz3_class_info[cls].load || hz3_class_at(entry[i]) != cls || hz3_owner_at(entry[i]) != owner) {
            entry[left++] = entry[i];
        } else {
            *(void **)tail = entry[i];
            tail = entry[i];
            count++;
        }
    }
    *n = left;
    return push_list(head, tail, count, cls, owner, refused);
}

static unsigned push_entry(void *p, void **refused)
{
    return push_list(p, p, 1, hz3_class_at(p), hz3_owner_at(p), refused);
}

static void *take_oldest(struct hz3_outbox *outbox)
{
    void *p = outbox->ring[outbox->ring_first];
    outbox->ring_first = (outbox->ring_first + 1) % HZ3_RING;
    outbox->ring_count--;
    return p;
}

static unsigned flush_ring(struct hz3_outbox *outbox, unsigned budget, void **refused)
{
    void *entry[HZ3_RING];
    unsigned n = 0, count = 0;
    while (n < budget && outbox->ring_count) entry[n++] = take_oldest(outbox);
    if (HZ3_S97_REMOTE_STASH_BUCKET)
        while (n) count += push_bucket(entry, &n, refused + count);
    else
        for (unsigned i = 0; i < n; i++) count += push_entry(entry[i], refused + count);
    return count;
}

/* The ring is full. */
static unsigned make_room(struct hz3_outbox *outbox, void **refused)
{
    if (HZ3_S97_REMOTE_STASH_BUCKET) return flush_ring(outbox, HZ3_RING, refused);
    void *out = take_oldest(outbox);
    if (!HZ3_S146_OVERFLOW_BATCH) return push_entry(out, refused);
    gather(outbox, out, hz3_class_at(out), hz3_owner_at(out));
    return 0;
}

static unsigned put_in_ring(struct hz3_outbox *outbox, void *p, void **refused)
{
    unsigned count = outbox->ring_count == HZ3_RING ? make_room(outbox, refused) : 0;
    outbox->remote_hint = true;
    outbox->ring[(outbox->ring_first + outbox->ring_count++) % HZ3_RING] = p;
    return count;
}

/* ---- both ---- */

unsigned hz3_outgoing_put(struct hz3_outbox *outbox, void *p, unsigned cls, unsigned owner, void **refused)
{
    if (HZ3_REMOTE_STASH_SPARSE) return put_in_ring(outbox, p, refused);
    if (!HZ3_S121_PAGE_LOCAL_REMOTE)
        gather(outbox, p, cls, owner);
    else if (!hz3_page_remote_note(p, cls, owner))
        hz3_central_retire(cls, &p, 1);
    return 0;
}

unsigned hz3_outgoing_flush(struct hz3_outbox *outbox, unsigned budget, void **refused)
{
    if (!outbox->remote_hint) return 0;
    unsigned left = budget, waited = outbox->ring_count, count = 0;
    if (HZ3_REMOTE_STASH_SPARSE) {
        count = flush_ring(outbox, budget, refused);
        left -= waited - outbox->ring_count;
    }
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
    size_t objects = 0;
    for (unsigned i = 0; i < HZ3_OUTBOX_OUTGOING; i++) {
        void **top = outbox->outgoing[i];
        if ((hz3_magazine_of(top)->header.key & 0xff) == cls) objects += hz3_magazine_objects(top);
    }
    unsigned first = outbox->ring_first, count = outbox->ring_count;
    for (unsigned i = 0; HZ3_REMOTE_STASH_SPARSE && i < hz3_min(count, (unsigned)HZ3_RING); i++) {
        const void *p = outbox->ring[(first + i) % HZ3_RING];
        objects += p && hz3_class_at(p) == cls;
    }
    return objects;
}
