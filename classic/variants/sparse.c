#include "variants/sparse.h"

#include "base/sizeclass.h"
#include "middle/central.h"
#include "middle/owner_stash.h"

static void **entry_at(const struct hz3_outbox *outbox, unsigned i)
{
    return (void **)&outbox->ring[i % HZ3_RING];
}

/* Returns how many were refused: none, or all, which refused[] then has.  So do all functions below. */
static unsigned push_list(void *head, void *tail, unsigned n, unsigned cls, unsigned owner, void **refused)
{
    bool pushed = hz3_heap_is_in_use(owner) && (n == 1 ? hz3_owner_stash_push_one(owner, cls, head)
                                                       : hz3_owner_stash_push_list(owner, cls, head, tail, n));
    if (pushed) return 0;
    void *p = head;
    for (unsigned i = 0; i < n; i++, p = *(void **)p) refused[i] = p; /* the last one's link is read, but not used */
    return n;
}

/* Sorted flush: one push for all of the *n entries with the first one's owner and class.  Afterwards *n are left. */
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

void *hz3_sparse_take_oldest(struct hz3_outbox *outbox)
{
    void *p = *entry_at(outbox, outbox->ring_first);
    outbox->ring_first = (outbox->ring_first + 1) % HZ3_RING;
    outbox->ring_count--;
    return p;
}

unsigned hz3_ring_flush(struct hz3_outbox *outbox, unsigned budget, void **refused)
{
    void *entry[HZ3_RING];
    unsigned n = 0, count = 0;
    while (n < budget && outbox->ring_count) entry[n++] = hz3_sparse_take_oldest(outbox);
    if (HZ3_S97_REMOTE_STASH_BUCKET)
        while (n) count += push_bucket(entry, &n, refused + count);
    else
        for (unsigned i = 0; i < n; i++) count += push_entry(entry[i], refused + count);
    return count;
}

static unsigned make_room(struct hz3_outbox *outbox, void **refused)
{
    if (HZ3_S97_REMOTE_STASH_BUCKET) return hz3_ring_flush(outbox, HZ3_RING, refused);
    return push_entry(hz3_sparse_take_oldest(outbox), refused);
}

unsigned hz3_sparse_put(struct hz3_outbox *outbox, void *p, void **refused)
{
    unsigned count = hz3_sparse_is_full(outbox) ? make_room(outbox, refused) : 0;
    outbox->remote_hint = true;
    *entry_at(outbox, outbox->ring_first + outbox->ring_count++) = p;
    return count;
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
