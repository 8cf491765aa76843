#include "variants/sparse.h"

#include "base/sizeclass.h"
#include "middle/central.h"
#include "middle/owner_stash.h"
#include "variants/onward.h"

static void **entry_at(const struct hz3_outbox *outbox, unsigned i)
{
    return (void **)&outbox->ring[i % HZ3_RING];
}

/* Sends n linked objects home, or onward. */
static void push_list(struct hz3_outbox *outbox, void *head, void *tail, unsigned n, unsigned cls, unsigned owner)
{
    if (n == 1 ? hz3_owner_stash_push_one(owner, cls, head) : hz3_owner_stash_push_list(owner, cls, head, tail, n))
        return;
    for (void *p = head, *next; n--; p = next) {
        next = *(void **)p; /* the last one's is read, but not used */
        hz3_onward_put(outbox, cls, p);
    }
}

/* Sorted flush: one push for all of the *n entries with the first one's owner and class.  Afterwards *n are left. */
static void push_bucket(struct hz3_outbox *outbox, void **entry, unsigned *n)
{
    unsigned cls = hz3_class_at(entry[0]), owner = hz3_owner_at(entry[0]), left = 0, count = 1;
    void *tail = entry[0], *head = entry[0];
    for (unsigned i = 1; i < *n; i++) {
        if (hz3_class_at(entry[i]) != cls || hz3_owner_at(entry[i]) != owner) {
            entry[left++] = entry[i];
        } else {
            *(void **)tail = entry[i];
            tail = entry[i];
            count++;
        }
    }
    *n = left;
    push_list(outbox, head, tail, count, cls, owner);
}

static void push_entry(struct hz3_outbox *outbox, void *p)
{
    push_list(outbox, p, p, 1, hz3_class_at(p), hz3_owner_at(p));
}

void *hz3_ring_take_oldest(struct hz3_outbox *outbox)
{
    void *p = *entry_at(outbox, outbox->ring_first);
    outbox->ring_first = (outbox->ring_first + 1) % HZ3_RING;
    outbox->ring_count--;
    return p;
}

unsigned hz3_ring_flush(struct hz3_outbox *outbox, unsigned budget)
{
    void *entry[HZ3_RING];
    unsigned n = 0, sent;
    while (n < budget && outbox->ring_count) entry[n++] = hz3_ring_take_oldest(outbox);
    sent = n;
    if (HZ3_S97_REMOTE_STASH_BUCKET)
        while (n) push_bucket(outbox, entry, &n);
    else
        for (unsigned i = 0; i < n; i++) push_entry(outbox, entry[i]);
    return sent;
}

bool hz3_ring_put(struct hz3_outbox *outbox, void *p)
{
    if (outbox->ring_count == HZ3_RING) hz3_ring_flush(outbox, 1);
    outbox->remote_hint = true;
    *entry_at(outbox, outbox->ring_first + outbox->ring_count++) = p;
    return true;
}

HZ3_RACY size_t hz3_ring_objects(const struct hz3_outbox *outbox, unsigned cls)
{
    size_t objects = 0;
    unsigned first = outbox->ring_first, count = hz3_min(outbox->ring_count, (unsigned)HZ3_RING);
    for (unsigned i = 0; i < count; i++) {
        const void *p = *entry_at(outbox, first + i);
        objects += p && hz3_class_at(p) == cls;
    }
    return objects;
}
