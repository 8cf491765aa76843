#include "middle/owner_stash.h"

#include "base/layout.h"
#include "base/sizeclass.h"
#include "middle/central.h"

/* Slack of in_flight for one owner: the bins may hold this many bytes that it does not count.  The bound assumes that
 * they do. */
#define UNBOOKED_BYTES HZ3_KIB(512)

struct hz3_bin {
    struct hz3_stack stack;
};

static struct hz3_stash {
    HZ3_ATOMIC(size_t) in_flight; /* bytes in its bins that are counted, modulo 2^64 */
    struct hz3_bin bin[HZ3_CLASS_VALUES] HZ3_CACHE_ALIGNED;
} HZ3_CACHE_ALIGNED stashes[HZ3_NUM_SHARDS];
/* A hash of the head of each bin when reclaim last saw it.  If a later head has the same hash, the bin is emptied one
 * pass too early. */
static HZ3_ATOMIC(uint32_t) seen[HZ3_NUM_SHARDS][HZ3_CLASS_VALUES];
static struct {
    uint32_t bytes;          /* of a full magazine */
    uint32_t step;           /* batch of the counter, so that not every push writes in_flight */
} booking[HZ3_CLASS_VALUES]; /* const after start */

/* The number of stashes that may hold something: later heaps never had a thread. */
static unsigned owners(void)
{
    return hz3_get(hz3_heap_highest) + 1;
}

/* ---- bounds ---- */

void hz3_owner_stash_start(void)
{
    size_t left = UNBOOKED_BYTES;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        size_t bytes = hz3_class_size(cls) * hz3_class_info[cls].load;
        booking[cls].bytes = (uint32_t)bytes;
        booking[cls].step = bytes <= left ? 2 : 1;
        if (bytes <= left) left -= bytes;
    }
}

static size_t booked(unsigned cls, unsigned magazines)
{
    return (size_t)(magazines / booking[cls].step * booking[cls].step) * booking[cls].bytes;
}

/* Counts in in_flight, in batches, that a bin went from `before` to `after` objects. */
static void book(struct hz3_stash *stash, unsigned cls, unsigned before, unsigned after)
{
    size_t more = booked(cls, after) - booked(cls, before); /* modulo 2^64 if it became less */
    if (more) hz3_add(stash->in_flight, more);
}

/* A pop may be counted before the push that it undoes, so the sum may be negative for a moment. */
size_t hz3_owner_stash_in_flight(unsigned owner)
{
    ptrdiff_t bytes = (ptrdiff_t)hz3_get(stashes[owner].in_flight);
    return bytes > 0 ? (size_t)bytes : 0;
}

size_t hz3_owner_stash_waiting(void)
{
    size_t bytes = 0;
    for (unsigned owner = 0; owner < owners(); owner++) bytes += hz3_owner_stash_in_flight(owner);
    return bytes;
}

/* ---- pushes and pops ---- */

/* False: the bin would hold more than `most` magazines. */
HZ3_INLINE bool put(struct hz3_stash *stash, unsigned cls, struct hz3_stack_chain chain, unsigned most)
{
    uint64_t replaced;
    if (!hz3_stack_put_chain(&stash->bin[cls].stack, chain, most, &replaced)) return false;
    unsigned before = hz3_stack_count_of(replaced);
    book(stash, cls, before, before + chain.nodes);
    return true;
}

HZ3_INLINE struct hz3_magazine *take_chain(struct hz3_stash *stash, unsigned cls, uint32_t *magazines)
{
    uint64_t replaced = 0;
    uint32_t number = hz3_stack_take_chain(&stash->bin[cls].stack, magazines, &replaced);
    if (!number) return NULL;
    unsigned before = hz3_stack_count_of(replaced);
    book(stash, cls, before, before - *magazines);
    return hz3_magazine_numbered(number);
}

HZ3_INLINE struct hz3_magazine *take(struct hz3_stash *stash, unsigned cls)
{
    uint32_t one = 1;
    return take_chain(stash, cls, &one);
}

static unsigned count(unsigned owner, unsigned cls)
{
    return hz3_stack_count(&stashes[owner].bin[cls].stack);
}

void hz3_owner_stash_after_fork(void)
{
    for (unsigned owner = 0; owner < owners(); owner++) {
        size_t bytes = 0;
        if (!hz3_get(stashes[owner].in_flight)) continue; /* a child of few calls reads few pages */
        for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) bytes += booked(cls, count(owner, cls));
        if (bytes != hz3_get(stashes[owner].in_flight)) hz3_set(stashes[owner].in_flight, bytes);
    }
}

HZ3_INLINE bool push(unsigned owner, unsigned cls, struct hz3_stack_chain chain)
{
    unsigned max = hz3_min(HZ3_S44_STASH_MAX_OBJS / hz3_class_info[cls].load, (unsigned)HZ3_STACK_MAX);
    size_t after = hz3_owner_stash_in_flight(owner) + (size_t)chain.nodes * booking[cls].bytes + UNBOOKED_BYTES;
    /* Several threads may see room for their bytes at the same time, and each use it. */
    return after <= hz3_heap_in_flight_max(owner) && put(&stashes[owner], cls, chain, hz3_max(max, 1u));
}

bool hz3_owner_stash_push(unsigned owner, unsigned cls, struct hz3_magazine *magazine)
{
    return push(owner, cls, hz3_magazine_alone(magazine));
}

bool hz3_owner_stash_push_chain(unsigned owner, unsigned cls, struct hz3_stack_chain chain)
{
    return push(owner, cls, chain);
}

struct hz3_magazine *hz3_owner_stash_pop(unsigned owner, unsigned cls)
{
    return take(&stashes[owner], cls);
}

struct hz3_magazine *hz3_owner_stash_pop_chain(unsigned owner, unsigned cls, uint32_t *magazines)
{
    return take_chain(&stashes[owner], cls, magazines);
}

struct hz3_magazine *hz3_owner_stash_steal(unsigned cls)
{
    struct hz3_magazine *magazine = NULL;
    for (unsigned owner = 0; !magazine && owner < owners(); owner++)
        if (unlikely(count(owner, cls))) magazine = take(&stashes[owner], cls);
    return magazine;
}

/* ---- for reclaim and statistics ---- */

static uint32_t hash_of_head(unsigned owner, unsigned cls)
{
    return (uint32_t)(hz3_get(stashes[owner].bin[cls].stack.head) * 0x9e3779b97f4a7c15u >> 32);
}

/* Leaves what comes meanwhile, so as to end. */
static void retire_all(unsigned owner, unsigned cls)
{
    struct hz3_magazine *magazine;
    for (unsigned most = count(owner, cls); most-- && (magazine = take(&stashes[owner], cls));)
        hz3_central_take_apart(cls, magazine);
}

void hz3_owner_stash_trim(unsigned cls, bool all)
{
    for (unsigned owner = 0; owner < owners(); owner++) {
        uint32_t head = hash_of_head(owner, cls);
        if (!count(owner, cls)) continue;
        if (all || head == hz3_get(seen[owner][cls]))
            retire_all(owner, cls);
        else
            hz3_set(seen[owner][cls], head);
    }
}

/* How full a magazine is can only be read after it was taken.  That does not count as use. */
static size_t count_objects(unsigned owner, unsigned cls)
{
    struct hz3_magazine *taken = NULL, *magazine;
    size_t objects = 0;
    bool unused = hash_of_head(owner, cls) == hz3_get(seen[owner][cls]);
    for (unsigned most = count(owner, cls); most-- && (magazine = take(&stashes[owner], cls));) {
        objects += hz3_magazine_count(magazine);
        hz3_set(magazine->header.next, taken ? hz3_magazine_number(taken) : 0);
        taken = magazine;
    }
    while ((magazine = taken)) {
        taken = hz3_magazine_below(magazine);
        if (!put(&stashes[owner], cls, hz3_magazine_alone(magazine), HZ3_STACK_MAX))
            hz3_central_take_apart(cls, magazine);
    }
    if (unused) hz3_set(seen[owner][cls], hash_of_head(owner, cls));
    return objects;
}

size_t hz3_owner_stash_objects(unsigned cls)
{
    size_t objects = 0;
    for (unsigned owner = 0; owner < owners(); owner++)
        if (count(owner, cls)) objects += count_objects(owner, cls);
    return objects;
}

const struct hz3_place hz3_stash_places[] = {
    HZ3_PLACES("stash", stashes),
    HZ3_PLACE("stashes", hz3_heap_highest),
    HZ3_NUMBER("bin.size", sizeof(struct hz3_bin)),
    HZ3_NUMBER("stash.instances", 1),
    HZ3_FIELD("stash.bin", struct hz3_stash, bin),
    HZ3_PLACES_END,
};
