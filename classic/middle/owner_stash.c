#include "middle/owner_stash.h"

#include "api/options.h"
#include "base/sizeclass.h"
#include "middle/central.h"
#include "middle/owner_stash_transport.h"
#include HZ3_CENTRAL_MAGAZINES_H
#include HZ3_PAGE_LOCAL_H

/* How much the bins of one owner may hold beyond what is booked.  The bound counts it as held. */
#define UNBOOKED_BYTES HZ3_KIB(512)

static struct hz3_stash stashes[HZ3_NUM_SHARDS];
static struct {
    uint32_t item;           /* bytes of what a bin counts: an object, or a full magazine */
    uint32_t step;           /* how many items are booked at a time, so that not every push writes in_flight */
} booking[HZ3_CLASS_VALUES]; /* const after start */
/* A hash of the head of each bin when reclaim last saw it.  Were that of a later head the same, the bin would be
 * emptied a pass earlier. */
static HZ3_ATOMIC(uint32_t) seen[HZ3_NUM_SHARDS][HZ3_INSTANCES_MAX][HZ3_CLASS_VALUES];

/* How many stashes may hold something: the heaps after them never had a thread. */
static unsigned owners(void)
{
    return hz3_get(hz3_heap_highest) + 1;
}

/* ---- bounds ---- */

void hz3_owner_stash_start(void)
{
    size_t wanted = hz3_options.OWNER_STASH_INSTANCES;
    hz3_instances_set = HZ3_OWNER_STASH_INSTANCES;
    if (HZ3_S144_SETTABLE && wanted != HZ3_OPTION_AUTO)
        for (hz3_instances_set = 1; 2 * hz3_instances_set <= hz3_min(wanted, HZ3_INSTANCES_MAX);)
            hz3_instances_set *= 2;
    size_t left = UNBOOKED_BYTES / hz3_instances();
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        size_t size = hz3_class_size(cls), item = size * hz3_bin_item(cls);
        size_t step = hz3_bin_step(cls, item, left);
        left -= (step - 1) * item;
        booking[cls].item = (uint32_t)item;
        booking[cls].step = (uint32_t)step;
    }
}

static size_t booked(unsigned cls, uint32_t count)
{
    return (size_t)((int32_t)count / (int32_t)booking[cls].step) * booking[cls].step * booking[cls].item;
}

void hz3_stash_book(struct hz3_stash *stash, unsigned cls, uint32_t before, uint32_t after)
{
    size_t more = booked(cls, after) - booked(cls, before); /* modulo 2^64 if it became less */
    if (more) hz3_add(stash->in_flight, more);
}

/* A pop may book before the push that it undoes, so the sum may be negative for a moment. */
size_t hz3_owner_stash_in_flight(unsigned owner)
{
    ptrdiff_t bytes = (ptrdiff_t)hz3_get(stashes[owner].in_flight);
    return bytes > 0 ? (size_t)bytes : 0;
}

static bool has_room(unsigned owner, unsigned cls, unsigned items)
{
    size_t bytes = (size_t)items * booking[cls].item + UNBOOKED_BYTES;
    return HZ3_STASH_PUSHES && hz3_owner_stash_in_flight(owner) + bytes <= hz3_heap_in_flight_max(owner);
}

size_t hz3_owner_stash_waiting(void)
{
    size_t bytes = 0;
    for (unsigned owner = 0; owner < owners(); owner++) bytes += hz3_owner_stash_in_flight(owner);
    return bytes + hz3_page_remote_waiting() + hz3_central_waiting();
}

/* ---- pushes ---- */

static struct hz3_bin *bin_to_push(unsigned owner, unsigned cls)
{
    return &stashes[owner].bin[hz3_instance_to_push(owner, cls)][cls];
}

static bool counted(bool pushed, unsigned objects)
{
    HZ3_COUNT(pushed, pushed ? objects : 0);
    HZ3_COUNT(refused, pushed ? 0 : objects);
    return pushed;
}

bool hz3_owner_stash_push_one(unsigned owner, unsigned cls, void *object)
{
    return hz3_owner_stash_push_list(owner, cls, object, object, 1);
}

bool hz3_owner_stash_push_list(unsigned owner, unsigned cls, void *head, void *tail, unsigned n)
{
    unsigned items = (n + hz3_bin_item(cls) - 1) / hz3_bin_item(cls);
    return counted(has_room(owner, cls, items) &&
                       hz3_transport_push_list(&stashes[owner], bin_to_push(owner, cls), cls, head, tail, n),
                   n);
}

bool hz3_owner_stash_push(unsigned owner, unsigned cls, struct hz3_magazine *magazine)
{
    unsigned n = hz3_magazine_count(magazine);
    return counted(has_room(owner, cls, hz3_bin_items_of_magazine(n)) &&
                       hz3_transport_push_magazine(&stashes[owner], bin_to_push(owner, cls), cls, magazine),
                   n);
}

/* ---- pops ---- */

static struct hz3_bin *bin_to_pop(unsigned owner, unsigned cls)
{
    return &stashes[owner].bin[hz3_instance_to_pop(cls)][cls];
}

unsigned hz3_owner_stash_pop_batch(unsigned owner, unsigned cls, void **out, unsigned want)
{
    unsigned got = hz3_transport_pop_batch(&stashes[owner], bin_to_pop(owner, cls), cls, out, want);
    HZ3_COUNT(popped, got);
    return got;
}

struct hz3_magazine *hz3_owner_stash_pop(unsigned owner, unsigned cls)
{
    struct hz3_magazine *magazine = hz3_transport_pop_magazine(&stashes[owner], bin_to_pop(owner, cls), cls);
    if (magazine) HZ3_COUNT(popped, hz3_magazine_count(magazine));
    return magazine;
}

/* The next bin of the class, from *at on, that is not empty; *at becomes the one after it. */
static struct hz3_bin *next_pending(unsigned cls, unsigned *at, struct hz3_stash **stash)
{
    unsigned instances = hz3_instances(), bins = owners() * instances;
    while (*at < bins) {
        unsigned i = (*at)++;
        *stash = &stashes[i / instances];
        struct hz3_bin *bin = &(*stash)->bin[i % instances][cls];
        if (unlikely(hz3_bin_is_pending(bin))) return bin;
    }
    return NULL;
}

unsigned hz3_owner_stash_steal_batch(unsigned cls, void **out, unsigned want)
{
    struct hz3_stash *stash;
    struct hz3_bin *bin;
    unsigned at = 0, got = 0;
    while (!got && (bin = next_pending(cls, &at, &stash))) got = hz3_transport_pop_batch(stash, bin, cls, out, want);
    HZ3_COUNT(stolen, got);
    return got;
}

struct hz3_magazine *hz3_owner_stash_steal(unsigned cls)
{
    struct hz3_stash *stash;
    struct hz3_bin *bin;
    struct hz3_magazine *magazine = NULL;
    unsigned at = 0;
    while (!magazine && (bin = next_pending(cls, &at, &stash))) magazine = hz3_transport_pop_magazine(stash, bin, cls);
    if (magazine) HZ3_COUNT(stolen, hz3_magazine_count(magazine));
    return magazine;
}

uint32_t hz3_owner_stash_count(unsigned owner, unsigned cls)
{
    uint32_t count = 0;
    for (unsigned i = 0; i < hz3_instances(); i++) count += hz3_transport_count(&stashes[owner].bin[i][cls], cls);
    return count;
}

bool hz3_owner_stash_has_pending(unsigned owner, unsigned cls)
{
    for (unsigned i = 0; i < hz3_instances(); i++)
        if (hz3_bin_is_pending(&stashes[owner].bin[i][cls])) return true;
    return false;
}

/* ---- for reclaim and statistics ---- */

static uint32_t hash(uint64_t head)
{
    return (uint32_t)(head * 0x9e3779b97f4a7c15u >> 32);
}

static void trim_bin(unsigned owner, unsigned instance, unsigned cls, bool all)
{
    struct hz3_bin *bin = &stashes[owner].bin[instance][cls];
    HZ3_ATOMIC(uint32_t) *last = &seen[owner][instance][cls];
    if (!hz3_bin_is_pending(bin) && !hz3_bin_is_overtaken(bin)) return;
    uint32_t head = hash(hz3_bin_head(bin));
    if (all || head == hz3_get(*last)) {
        size_t objects = hz3_transport_retire(&stashes[owner], bin, cls);
        HZ3_COUNT(trimmed, objects);
    } else {
        hz3_set(*last, head);
    }
}

void hz3_owner_stash_trim(unsigned cls, bool all)
{
    hz3_page_remote_collect_all(cls);
    for (unsigned owner = 0; owner < owners(); owner++)
        for (unsigned i = 0; i < hz3_instances(); i++) trim_bin(owner, i, cls, all);
}

void hz3_owner_stash_flush_spill(struct hz3_outbox *outbox)
{
    for (unsigned cls = 1; cls < HZ3_OUTBOX_SPILL; cls++)
        if (outbox->spill[cls].first) {
            HZ3_COUNT(trimmed, hz3_owner_stash_spilled(outbox, cls));
            hz3_transport_flush_spill(&outbox->spill[cls], cls);
        }
}

size_t hz3_owner_stash_spilled(const struct hz3_outbox *outbox, unsigned cls)
{
    return cls < HZ3_OUTBOX_SPILL ? hz3_transport_spilled(&outbox->spill[cls]) : 0;
}

/* Counts by taking all out and putting it back.  That does not count as use. */
static size_t count_objects(unsigned owner, unsigned instance, unsigned cls)
{
    struct hz3_bin *bin = &stashes[owner].bin[instance][cls];
    HZ3_ATOMIC(uint32_t) *last = &seen[owner][instance][cls];
    if (!hz3_bin_is_pending(bin)) return 0;
    bool unused = hash(hz3_bin_head(bin)) == hz3_get(*last);
    size_t objects = hz3_transport_objects(&stashes[owner], bin, cls);
    if (unused) hz3_set(*last, hash(hz3_bin_head(bin)));
    return objects;
}

size_t hz3_owner_stash_objects(unsigned cls)
{
    size_t objects = hz3_page_remote_collect_all(cls); /* they were waiting until now */
    for (unsigned owner = 0; owner < owners(); owner++)
        for (unsigned i = 0; i < hz3_instances(); i++) objects += count_objects(owner, i, cls);
    return objects;
}

const struct hz3_place hz3_stash_places[] = {
    HZ3_PLACES("stash", stashes),
    HZ3_PLACE("stashes", hz3_heap_highest),
    HZ3_NUMBER("bin.size", sizeof(struct hz3_bin)),
    HZ3_NUMBER("stash.instances", HZ3_INSTANCES_MAX),
    HZ3_FIELD("stash.bin", struct hz3_stash, bin),
    HZ3_PLACES_END,
};
