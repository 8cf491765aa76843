#include "middle/owner_stash.h"

#include "api/options.h"
#include "back/policy.h"
#include "base/layout.h"
#include "base/sizeclass.h"
#include "middle/central.h"
#include "variants/central_magazines.h"
#include "variants/linked.h"
#include HZ3_PAGE_LOCAL_H

#define PUSHED_PER_COUNT (HZ3_POLICY_MUCH / 4) /* bytes, by all threads */
static _Thread_local size_t pushed_here;       /* bytes, not yet in waiting.pushed */

static struct hz3_stash stashes[HZ3_NUM_SHARDS];
/* A hash of the head of each bin when reclaim last saw it.  Were that of a later head the same, the bin would be
 * emptied a pass earlier. */
static HZ3_ATOMIC(uint16_t) seen[HZ3_NUM_SHARDS][HZ3_INSTANCES_MAX][HZ3_STASH_CLASSES];
/* Bytes in all bins, as they were counted last; not known since a trim. */
static struct {
    HZ3_ATOMIC(size_t) bytes;
    HZ3_ATOMIC(uint32_t) since; /* ms */
    HZ3_ATOMIC(bool) known;
    HZ3_ATOMIC(size_t) pushed; /* bytes, since then */
} waiting;
_Static_assert(HZ3_NUM_SHARDS > 63 || sizeof stashes + sizeof seen < 2500000, "work order S144: below 2.5 MB");

/* How many stashes may hold something: the shards after them never had a thread. */
static unsigned owners(void)
{
    return hz3_get(hz3_heap_highest) + 1;
}

static bool has_bins(unsigned cls)
{
    return cls < HZ3_STASH_CLASSES;
}

void hz3_owner_stash_start(void)
{
    hz3_instances_set = HZ3_OWNER_STASH_INSTANCES;
#if HZ3_S144_SETTABLE
    size_t wanted = hz3_options.OWNER_STASH_INSTANCES;
    if (wanted != HZ3_OPTION_AUTO)
        for (hz3_instances_set = 1; (size_t)2 * hz3_instances_set <= hz3_min(wanted, HZ3_INSTANCES_MAX);)
            hz3_instances_set *= 2;
#endif
}

/* ---- pushes and pops ---- */

static bool counted(bool pushed, unsigned objects)
{
    HZ3_COUNT(pushed, pushed ? objects : 0);
    HZ3_COUNT(refused, pushed ? 0 : objects);
    return pushed;
}

static bool push(unsigned owner, unsigned cls, void *head, void *tail, unsigned n)
{
    unsigned retries;
    if (!HZ3_STASH_PUSHES || !has_bins(cls)) return false;
    struct hz3_list *list = &stashes[owner].bin[hz3_instance_to_push(owner, cls)][cls];
    bool pushed = hz3_list_push(list, head, tail, n, HZ3_S44_STASH_MAX_OBJS, &retries) >= 0;
    if (n == 1) {
        HZ3_COUNT(one_calls, 1);
        HZ3_COUNT(one_objs, 1);
        HZ3_COUNT(one_retries, retries);
        HZ3_COUNT_MAX(one_retry_max, retries);
    } else {
        HZ3_COUNT(list_calls, 1);
        HZ3_COUNT(list_objs, n);
        HZ3_COUNT(list_retries, retries);
        HZ3_COUNT_MAX(list_retry_max, retries);
    }
    return pushed;
}

bool hz3_owner_stash_push_one(unsigned owner, unsigned cls, void *object)
{
    return hz3_owner_stash_push_list(owner, cls, object, object, 1);
}

bool hz3_owner_stash_push_list(unsigned owner, unsigned cls, void *head, void *tail, unsigned n)
{
    bool pushed = counted(push(owner, cls, head, tail, n), n);
    if (pushed) pushed_here += n * hz3_class_size(cls);
    return pushed;
}

bool hz3_owner_stash_push(unsigned owner, unsigned cls, struct hz3_magazine *magazine)
{
    unsigned n = hz3_magazine_count(magazine);
    void **first = &magazine->word[magazine->header.floor + 1];
    if (!HZ3_STASH_PUSHES || !has_bins(cls)) return counted(false, n);
    for (unsigned i = 0; i + 1 < n; i++) hz3_link_set(first[i], first[i + 1]);
    if (!hz3_owner_stash_push_list(owner, cls, first[0], first[n - 1], n)) return false;
    hz3_magazine_put(cls, magazine);
    return true;
}

unsigned hz3_owner_stash_pop_batch(unsigned owner, unsigned cls, void **out, unsigned want)
{
    if (!HZ3_STASH_POPS || !has_bins(cls)) return 0;
    unsigned got = hz3_linked_pop(&stashes[owner], &stashes[owner].bin[hz3_instance_to_pop(cls)][cls], cls, out, want);
    HZ3_COUNT(popped, got);
    return got;
}

uint32_t hz3_owner_stash_count(unsigned owner, unsigned cls)
{
    uint32_t count = 0;
    for (unsigned i = 0; has_bins(cls) && i < hz3_instances(); i++)
        count += hz3_list_count(&stashes[owner].bin[i][cls]);
    return count;
}

bool hz3_owner_stash_has_pending(unsigned owner, unsigned cls)
{
    for (unsigned i = 0; has_bins(cls) && i < hz3_instances(); i++)
        if (hz3_get(stashes[owner].bin[i][cls].head)) return true;
    return false;
}

/* ---- for reclaim and statistics ---- */

static uint16_t hash(uint64_t head)
{
    return (uint16_t)(head * 0x9e3779b97f4a7c15u >> 48);
}

/* Where the count is beside the head it may be left when the list is empty: a push counts its objects after others
 * popped them. */
static void trim_bin(unsigned owner, unsigned instance, unsigned cls, bool all)
{
    struct hz3_list *list = &stashes[owner].bin[instance][cls];
    HZ3_ATOMIC(uint16_t) *last = &seen[owner][instance][cls];
    if (!hz3_get(list->head) && !hz3_list_count(list)) return;
    uint16_t head = hash(hz3_get(list->head));
    if (all || head == hz3_get(*last)) {
        size_t objects = hz3_linked_retire(&stashes[owner], list, cls);
        HZ3_COUNT(trimmed, objects);
    } else {
        hz3_set(*last, head);
    }
}

void hz3_owner_stash_trim(unsigned cls, bool all)
{
    hz3_page_remote_collect_all(cls);
    for (unsigned owner = 0; has_bins(cls) && owner < owners(); owner++)
        for (unsigned i = 0; i < hz3_instances(); i++) trim_bin(owner, i, cls, all);
    if (hz3_get(waiting.known)) hz3_set(waiting.known, false);
    hz3_central_trim(cls, all);
}

void hz3_owner_stash_flush_spill(struct hz3_outbox *outbox, const bool *used)
{
    for (unsigned cls = 1; cls < HZ3_OUTBOX_SPILL; cls++) {
        if (used && used[cls]) continue;
        size_t objects = hz3_linked_flush_spill(&outbox->spill[cls], cls);
        HZ3_COUNT(trimmed, objects);
    }
}

HZ3_RACY size_t hz3_owner_stash_spilled(const struct hz3_outbox *outbox, unsigned cls)
{
    return cls < HZ3_OUTBOX_SPILL ? outbox->spill[cls].in_array + outbox->spill[cls].in_list : 0;
}

void hz3_owner_stash_each_lock(void (*visit)(struct hz3_lock *lock))
{
    for (unsigned owner = 0; HZ3_STASH_ONE_TAKER && owner < owners(); owner++) visit(&stashes[owner].taker);
    hz3_central_each_magazines_lock(visit);
    hz3_counters_each_lock(visit);
}

void hz3_owner_stash_after_fork(void)
{
    hz3_counters_after_fork();
}

/* Counts by taking all out and putting it back.  That does not count as use. */
static size_t count_objects(unsigned owner, unsigned instance, unsigned cls)
{
    struct hz3_list *list = &stashes[owner].bin[instance][cls];
    HZ3_ATOMIC(uint16_t) *last = &seen[owner][instance][cls];
    if (!hz3_get(list->head)) return 0;
    bool unused = hash(hz3_get(list->head)) == hz3_get(*last);
    size_t objects = hz3_linked_objects(&stashes[owner], list, cls);
    if (unused) hz3_set(*last, hash(hz3_get(list->head)));
    return objects;
}

size_t hz3_owner_stash_objects(unsigned cls)
{
    size_t objects = hz3_page_remote_collect_all(cls); /* they were waiting until now */
    for (unsigned owner = 0; has_bins(cls) && owner < owners(); owner++)
        for (unsigned i = 0; i < hz3_instances(); i++) objects += count_objects(owner, i, cls);
    return objects + hz3_central_cached(cls);
}

static size_t count_bytes(void)
{
    size_t bytes = 0;
    for (unsigned owner = 0; owner < owners(); owner++)
        for (unsigned cls = 1; cls < HZ3_STASH_CLASSES; cls++)
            bytes += hz3_owner_stash_count(owner, cls) * hz3_class_size(cls);
    return bytes;
}

/* Reclaim asks at every 16th slow call, and there are thousands of bins, whose lines others write.  Threads may have
 * freed a burst within the 10 ms, and make no further call: in between they count by what all of them pushed. */
size_t hz3_owner_stash_waiting(void)
{
    uint32_t now = (uint32_t)hz3_os_now_ms();
    size_t bytes = hz3_get(waiting.bytes), pushed = hz3_get(waiting.pushed) + pushed_here;
    if (pushed_here) hz3_add(waiting.pushed, pushed_here);
    pushed_here = 0;
    if (pushed >= PUSHED_PER_COUNT || !hz3_get(waiting.known) ||
        hz3_ms_passed(hz3_get(waiting.since), HZ3_POLICY_SOON_MS, now)) {
        hz3_set(waiting.pushed, 0);
        hz3_set(waiting.known, true);
        hz3_set(waiting.since, now);
        hz3_set(waiting.bytes, bytes = count_bytes());
    }
    return bytes + hz3_page_remote_waiting() + hz3_central_waiting();
}

const struct hz3_place hz3_stash_places[] = {
    HZ3_PLACES("stash", stashes),
    HZ3_PLACE("stashes", hz3_heap_highest),
    HZ3_NUMBER("bin.size", sizeof(struct hz3_list)),
    HZ3_NUMBER("stash.instances", HZ3_INSTANCES_MAX),
    HZ3_NUMBER("stash.classes", HZ3_STASH_CLASSES),
    HZ3_FIELD("stash.bin", struct hz3_stash, bin),
    HZ3_PLACES("waiting", hz3_central_magazines),
    HZ3_FIELD("waiting.stack", struct hz3_central_magazines, stack),
    HZ3_FIELD("waiting.first", struct hz3_central_magazines, first),
    HZ3_FIELD("waiting.count", struct hz3_central_magazines, count),
    HZ3_PLACES_END,
};
