/* The work orders' transport of the owner stash: free objects linked through their first word.  A pop walks the links,
 * with a cache miss for each; the flags HZ3_S44_4_* are about that. */
#include "base/check.h"
#include "base/sizeclass.h"
#include "middle/central.h"
#include "middle/owner_stash_transport.h"

enum {
    DRAIN_LIMIT = HZ3_S44_DRAIN_LIMIT ? HZ3_S44_DRAIN_LIMIT : 30,
    BEYOND_NEED = HZ3_S48_OWNER_STASH_SPILL || HZ3_S44_DRAIN_LIMIT, /* a drain may take more than it needs */
    TAKE_HOME = 64,
};

/* ---- pushes ---- */

static bool push(struct hz3_stash *stash, struct hz3_list *list, unsigned cls, void *head, void *tail, unsigned n,
                 unsigned max, unsigned *retries)
{
    int64_t before = hz3_list_push(list, head, tail, n, max, retries);
    if (before < 0) return false;
    hz3_stash_book(stash, cls, (uint32_t)before, (uint32_t)before + n);
    return true;
}

bool hz3_transport_push_list(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls, void *head, void *tail,
                             unsigned n)
{
    unsigned retries;
    bool pushed = push(stash, &bin->list, cls, head, tail, n, HZ3_S44_STASH_MAX_OBJS, &retries);
    if (!pushed) return false;
    if (n == 1) {
    } else {
    }
    return true;
}

bool hz3_transport_push_magazine(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls,
                                 struct hz3_magazine *magazine)
{
    unsigned n = hz3_magazine_count(magazine);
    void **first = &magazine->word[magazine->header.floor + 1];
    for (unsigned i = 0; i + 1 < n; i++) hz3_link_set(first[i], first[i + 1]);
    if (!hz3_transport_push_list(stash, bin, cls, first[0], first[n - 1], n)) return false;
    hz3_magazine_put(cls, magazine);
    return true;
}

/* ---- the walk ---- */

/* If a link leads out of the class, the program has written into an object that it had freed. */
static void check_link(const void *to, unsigned cls, const void *from)
{
    if (unlikely((uintptr_t)to % HZ3_UNIT || hz3_class_at(to) != cls)) hz3_misuse("freed object overwritten", from);
}

static void prefetch(void *next, unsigned cls)
{
    if (!HZ3_S44_PREFETCH) return;
    if (HZ3_S44_PREFETCH_DIST > 1 && next && hz3_class_at(next) == cls) next = hz3_link_get(next);
    if (HZ3_S44_4_WALK_PREFETCH_UNCOND || next) __builtin_prefetch(next);
}

/* NOPREV: reads it from memory; else the compiler would keep it in a register all the same. */
static const void *stored_last(void *const *out, unsigned got, const void *prev)
{
    return HZ3_S44_4_WALK_NOPREV ? *(void *const volatile *)&out[got - 1] : prev;
}

/* Copies up to want objects from `object` on into out; *rest: the object after them. */
static unsigned walk(void *object, void **out, unsigned want, void **rest, unsigned cls)
{
    void *prev = object;
    unsigned got = 0;
    while (object && got < want) {
        if (got) check_link(object, cls, stored_last(out, got, prev));
        void *next = hz3_link_get(object);
        prefetch(next, cls);
        out[got++] = object;
        if (!HZ3_S44_4_WALK_NOPREV) prev = object;
        object = next;
    }
    if (object && got) check_link(object, cls, stored_last(out, got, prev));
    *rest = object;
    return got;
}

/* Walks up to `most` objects from `object` on; returns how many.  *last: the last of them; *rest: the one after it. */
static unsigned go_on(void *object, unsigned most, void **last, void **rest, unsigned cls)
{
    unsigned n = 0;
    for (void *next; object && n < most; n++, object = next) {
        *last = object;
        next = hz3_link_get(object);
        if (next) check_link(next, cls, object);
    }
    *rest = object;
    return n;
}

/* ---- the spill: the rest that the thread keeps, as an array or linked ---- */

static unsigned copy_from_spill(struct hz3_spill *spill, void **out, unsigned want, unsigned cls)
{
    unsigned got = hz3_min(want, spill->count);
    if (HZ3_S67_SPILL_ARRAY) {
        void *const *objects = ((struct hz3_magazine *)spill->first)->word;
        for (unsigned i = 0; i < got; i++) out[i] = objects[spill->count - i];
    } else {
        walk(spill->first, out, got, &spill->first, cls);
    }
    spill->count -= got;
    return got;
}

/* Does the same as copy_from_spill, as a function of its own that returns at once if nothing was kept. */
static HZ3_NOINLINE unsigned spill_helper(unsigned cls, void **out, unsigned want)
{
    if (!hz3_outbox) return 0;
    struct hz3_spill *spill = &hz3_outbox->spill[cls];
    if (!spill->count) return 0;
    return copy_from_spill(spill, out, want, cls);
}

static unsigned take_spilled(unsigned cls, void **out, unsigned want)
{
    if (!HZ3_S48_OWNER_STASH_SPILL) return 0;
    if (HZ3_S44_4_SPILL_HELPER) return spill_helper(cls, out, want);
    return hz3_outbox && hz3_outbox->spill[cls].count ? copy_from_spill(&hz3_outbox->spill[cls], out, want, cls) : 0;
}

/* Keeps as many objects of the list as the empty spill has room for; returns how many.  *rest: the others. */
static unsigned fill_spill(void *object, void **rest, unsigned cls)
{
    struct hz3_outbox *outbox = hz3_outbox_get();
    unsigned most = hz3_class_info[cls].load;
    void *last = NULL;
    *rest = object;
    if (!outbox) return 0;
    struct hz3_spill *spill = &outbox->spill[cls];
    if (spill->count) return 0;
    if (HZ3_S67_SPILL_ARRAY) {
        if (!spill->first && !(spill->first = hz3_magazine_get(cls))) return 0;
        spill->count = walk(object, &((struct hz3_magazine *)spill->first)->word[1], most, rest, cls);
    } else {
        spill->first = object;
        spill->count = go_on(object, most, &last, rest, cls);
        if (last) hz3_link_set(last, NULL);
    }
    return spill->count;
}

static size_t retire_list(void *object, unsigned cls)
{
    void *objects[TAKE_HOME];
    size_t retired = 0;
    for (unsigned got; object; retired += got) {
        got = walk(object, objects, TAKE_HOME, &object, cls);
        hz3_central_retire(cls, objects, got);
    }
    return retired;
}

/* Puts the list from `object` back.  n: how many there are; it may be wrong. */
static void put_back(struct hz3_stash *stash, struct hz3_list *list, unsigned cls, void *object, unsigned n)
{
    unsigned retries;
    uint32_t before;
    void *last = NULL, *end;
    if (HZ3_S44_OWNER_STASH_FASTPOP && hz3_list_restore(list, object, n, &before)) {
        hz3_stash_book(stash, cls, before, before + n);
        return;
    }
    n = go_on(object, HZ3_LIST_MAX, &last, &end, cls);
    if (push(stash, list, cls, object, last, n, HZ3_LIST_MAX, &retries)) return;
    hz3_link_set(last, end); /* the push may have linked it to others before it found no room */
    retire_list(object, cls);
}

/* ---- pops ---- */

static void keep_or_put_back(struct hz3_stash *stash, struct hz3_list *list, unsigned cls, void *rest, unsigned n)
{
    if (HZ3_S48_OWNER_STASH_SPILL && rest) n -= hz3_min(n, fill_spill(rest, &rest, cls));
    if (rest) put_back(stash, list, cls, rest, hz3_max(n, 1u));
}

/* Full drain. */
static unsigned drain_all(struct hz3_stash *stash, struct hz3_list *list, unsigned cls, void **out, unsigned want)
{
    uint32_t count;
    void *rest = hz3_list_take_all(list, &count);
    hz3_stash_book(stash, cls, count, 0);
    if (!rest) return 0;
    unsigned got = walk(rest, out, want, &rest, cls);
    keep_or_put_back(stash, list, cls, rest, count - hz3_min(count, got));
    return got;
}

/* Without it: walks objects that are still in the list, then cuts them off at the head.  Only one taker at a time. */
static unsigned drain_some(struct hz3_stash *stash, struct hz3_list *list, unsigned cls, void **out, unsigned want)
{
    uint64_t head = hz3_load(list->head, memory_order_acquire), left;
    unsigned got, more, count;
    void *rest, *beyond, *last = NULL;
    want = hz3_min(want, (unsigned)DRAIN_LIMIT);
    do {
        if (!hz3_list_first(head)) return 0;
        got = walk(hz3_list_first(head), out, want, &rest, cls);
        more = BEYOND_NEED ? go_on(rest, DRAIN_LIMIT - want, &last, &beyond, cls) : 0;
        if (!more) beyond = rest;
        count = hz3_list_packed_count(head);
        left = hz3_list_word(beyond, count - hz3_min(count, got + more));
    } while (!hz3_cas_weak(list->head, &head, left, memory_order_acquire, memory_order_acquire));
    if (HZ3_S44_OWNER_STASH_COUNT) count = hz3_sub(list->count[0], got + more);
    hz3_stash_book(stash, cls, count, count - (got + more));
    if (more) {
        hz3_link_set(last, NULL);
        keep_or_put_back(stash, list, cls, rest, more);
    }
    return got;
}

static unsigned drain(struct hz3_stash *stash, struct hz3_list *list, unsigned cls, void **out, unsigned want)
{
    return HZ3_S112_FULL_DRAIN_EXCHANGE ? drain_all(stash, list, cls, out, want)
                                        : drain_some(stash, list, cls, out, want);
}

/* Prefetches the first object before the spill is looked at, and returns it. */
static void *early_prefetch(struct hz3_list *list)
{
    if (!HZ3_S44_4_EARLY_PREFETCH) return NULL;
    void *first = hz3_list_first(hz3_load(list->head, memory_order_acquire));
    __builtin_prefetch(first);
    if (HZ3_S44_4_EARLY_PREFETCH_DIST > 1 && first) __builtin_prefetch(hz3_link_get(first));
    return first;
}

/* Whether a drain would be in vain. */
static bool looks_empty(struct hz3_list *list, const void *hint)
{
    if (HZ3_S44_4_SKIP_QUICK_EMPTY_CHECK) return false;
    if (HZ3_S44_4_QUICK_EMPTY_USE_EPF_HINT && hint) return false;
    return !hz3_list_first(hz3_get(list->head));
}

unsigned hz3_transport_pop_batch(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls, void **out, unsigned want)
{
    struct hz3_list *list = &bin->list;
    bool taker = !HZ3_STASH_ONE_TAKER || hz3_trylock(&stash->taker);
    void *hint = taker ? early_prefetch(list) : NULL;
    unsigned got = take_spilled(cls, out, want);
    if (taker && got < want && !looks_empty(list, hint)) got += drain(stash, list, cls, out + got, want - got);
    if (HZ3_STASH_ONE_TAKER && taker) hz3_unlock(&stash->taker);
    return got;
}

struct hz3_magazine *hz3_transport_pop_magazine(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls)
{
    struct hz3_magazine *magazine = hz3_magazine_get(cls);
    if (!magazine) return NULL;
    unsigned load = hz3_class_info[cls].load;
    void **floor = hz3_magazine_open(magazine, load);
    unsigned got = hz3_transport_pop_batch(stash, bin, cls, floor + 1, load);
    if (got) return hz3_magazine_close(floor + got);
    hz3_magazine_put(cls, magazine);
    return NULL;
}

/* ---- for reclaim and statistics ---- */

size_t hz3_transport_retire(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls)
{
    void *rest;
    uint32_t count;
    if (HZ3_STASH_ONE_TAKER && !hz3_trylock(&stash->taker)) return 0;
    rest = hz3_list_take_all(&bin->list, &count);
    if (HZ3_STASH_ONE_TAKER) hz3_unlock(&stash->taker);
    hz3_stash_book(stash, cls, count, 0);
    return retire_list(rest, cls);
}

uint32_t hz3_transport_count(struct hz3_bin *bin, unsigned cls)
{
    (void)cls;
    return hz3_list_count(&bin->list);
}

size_t hz3_transport_objects(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls)
{
    /* Walked, since a count in a word of its own is approximate. */
    uint32_t count;
    unsigned retries, n = 0;
    if (HZ3_STASH_ONE_TAKER) hz3_lock(&stash->taker);
    void *first = hz3_list_take_all(&bin->list, &count), *last = first;
    for (void *object = first; object; object = hz3_link_get(object), n++) last = object;
    hz3_stash_book(stash, cls, count, 0);
    if (first && !push(stash, &bin->list, cls, first, last, n, HZ3_LIST_MAX, &retries)) {
        hz3_link_set(last, NULL); /* as in put_back */
        retire_list(first, cls);
    }
    if (HZ3_STASH_ONE_TAKER) hz3_unlock(&stash->taker);
    return n;
}

void hz3_transport_flush_spill(struct hz3_spill *spill, unsigned cls)
{
    void *objects[HZ3_SPILL_OBJS];
    unsigned got = copy_from_spill(spill, objects, HZ3_SPILL_OBJS, cls);
    if (got) hz3_central_retire(cls, objects, got);
    if (HZ3_S67_SPILL_ARRAY && spill->first) hz3_magazine_put(cls, spill->first);
    *spill = (struct hz3_spill){0};
}

HZ3_RACY size_t hz3_transport_spilled(const struct hz3_spill *spill)
{
    return spill->count;
}
