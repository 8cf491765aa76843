#include "variants/linked.h"

#include "base/check.h"
#include "base/sizeclass.h"
#include "middle/central.h"

enum { UNROLL = HZ3_S44_4_WALK_UNROLL, TAKE_HOME = 64 };

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

/* Copies an object of a list; returns the next one, or NULL. */
HZ3_INLINE void *step(void *object, void **out, unsigned cls)
{
    void *next = hz3_link_get(object);
    prefetch(next, cls);
    *out = object;
    if (next) check_link(next, cls, object);
    return next;
}

/* Copies up to want objects from `object` on into out.  *last: the last of them, if there is one; *rest: the object
 * after it. */
static unsigned walk(void *object, void **out, unsigned want, void **last, void **rest, unsigned cls)
{
    void *prev = NULL;
    unsigned got = 0;
#define STEP \
    if (!object) break; \
    if (!HZ3_S44_4_WALK_NOPREV) prev = object; \
    object = step(object, &out[got++], cls);
    while (UNROLL == 8 && want - got >= 8) {
        STEP STEP STEP STEP STEP STEP STEP STEP
    }
    while (UNROLL == 4 && want - got >= 4) {
        STEP STEP STEP STEP
    }
    while (got < want) {
        STEP
    }
#undef STEP
    /* volatile: else the compiler would keep it in a register all the same. */
    if (got) *last = HZ3_S44_4_WALK_NOPREV ? *(void *volatile *)&out[got - 1] : prev;
    *rest = object;
    return got;
}

/* The same for objects that the caller has taken: the last one no longer leads to the rest. */
static unsigned walk_off(void *object, void **out, unsigned want, void **rest, unsigned cls)
{
    void *last;
    unsigned got = walk(object, out, want, &last, rest, cls);
    if (*rest && got) hz3_link_set(last, NULL);
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

/* ---- the spill: the rest that the thread keeps, an array before a list ---- */

static unsigned copy_from_spill(struct hz3_spill *spill, void **out, unsigned want, unsigned cls)
{
    unsigned got = hz3_min(want, spill->in_array), more = 0;
    for (unsigned i = 0; i < got; i++) out[i] = spill->array->word[spill->in_array - i];
    spill->in_array -= got;
    if (got < want && spill->list) {
        more = walk_off(spill->list, out + got, want - got, &spill->list, cls);
        spill->in_list -= more;
    }
    return got + more;
}

static bool has_spill(unsigned cls)
{
    return hz3_outbox && (hz3_outbox->spill[cls].in_array || hz3_outbox->spill[cls].list);
}

/* Does the same as copy_from_spill, as a function of its own that returns at once if nothing was kept. */
static HZ3_NOINLINE unsigned spill_helper(unsigned cls, void **out, unsigned want)
{
    if (!has_spill(cls)) return 0;
    return copy_from_spill(&hz3_outbox->spill[cls], out, want, cls);
}

static unsigned take_spilled(unsigned cls, void **out, unsigned want)
{
    if (!HZ3_S48_OWNER_STASH_SPILL) return 0;
    if (HZ3_S44_4_SPILL_HELPER) return spill_helper(cls, out, want);
    return has_spill(cls) ? copy_from_spill(&hz3_outbox->spill[cls], out, want, cls) : 0;
}

/* Keeps all n objects of the list in the spill, which is empty.  False: there is no memory for a spill. */
static bool keep(void *object, unsigned n, unsigned cls)
{
    struct hz3_outbox *outbox = hz3_outbox_get();
    if (!outbox) return false;
    struct hz3_spill *spill = &outbox->spill[cls];
    void *last, *end;
    spill->in_array = 0;
    spill->list = object;
    /* A count beside the head is approximate, and statistics ask how many are kept. */
    spill->in_list = HZ3_S44_OWNER_STASH_COUNT ? go_on(object, HZ3_LIST_MAX, &last, &end, cls) : n;
    HZ3_COUNT(spill_kept, spill->in_list);
    if (HZ3_S67_SPILL_ARRAY && (spill->array || (spill->array = hz3_magazine_get(cls)))) {
        spill->in_array = walk_off(object, &spill->array->word[1], hz3_class_info[cls].load, &spill->list, cls);
        spill->in_list -= spill->in_array;
    }
    return true;
}

static size_t retire_list(void *object, unsigned cls)
{
    void *objects[TAKE_HOME];
    size_t retired = 0;
    for (unsigned got; object; retired += got) {
        got = walk_off(object, objects, TAKE_HOME, &object, cls);
        hz3_central_retire(cls, objects, got);
    }
    return retired;
}

/* Puts the list from `object` back.  n: how many there are; it may be wrong. */
static void put_back(struct hz3_list *list, unsigned cls, void *object, unsigned n)
{
    unsigned retries;
    void *last = NULL, *end;
    HZ3_COUNT(spill_put_back, n);
    HZ3_COUNT(fastpop_tries, HZ3_S44_OWNER_STASH_FASTPOP);
    if (HZ3_S44_OWNER_STASH_FASTPOP && hz3_list_restore(list, object, n)) return;
    HZ3_COUNT(fastpop_misses, HZ3_S44_OWNER_STASH_FASTPOP);
    n = go_on(object, HZ3_LIST_MAX, &last, &end, cls);
    if (hz3_list_push(list, object, last, n, HZ3_LIST_MAX, &retries) >= 0) return;
    hz3_link_set(last, end); /* the push may have linked it to others before it found no room */
    retire_list(object, cls);
}

/* ---- pops ---- */

static void count_drain(unsigned drained)
{
    HZ3_COUNT(drains, 1);
    HZ3_COUNT(drained, drained);
    HZ3_COUNT_MAX(drained_max, drained);
    HZ3_COUNT_LENGTH(drained);
}

static void keep_or_put_back(struct hz3_list *list, unsigned cls, void *rest, unsigned n)
{
    n = hz3_max(n, 1u);
    if (!HZ3_S48_OWNER_STASH_SPILL || !keep(rest, n, cls)) put_back(list, cls, rest, n);
}

/* Full drain. */
static unsigned drain_all(struct hz3_list *list, unsigned cls, void **out, unsigned want)
{
    uint32_t count;
    void *rest = hz3_list_take_all(list, &count);
    if (!rest) return 0;
    count_drain(count);
    if (HZ3_S44_DRAIN_LIMIT) want = hz3_min(want, (unsigned)HZ3_S44_DRAIN_LIMIT);
    unsigned got = walk_off(rest, out, want, &rest, cls);
    if (rest) keep_or_put_back(list, cls, rest, count - hz3_min(count, got));
    return got;
}

/* Without it: walks objects that are still in the list, then cuts them off at the head.  Only one taker at a time. */
static unsigned drain_some(struct hz3_list *list, unsigned cls, void **out, unsigned want)
{
    uint64_t head = hz3_load(list->head, memory_order_acquire), left;
    unsigned got, more, count;
    void *rest, *beyond, *last = NULL, *kept = NULL;
    do {
        if (!hz3_list_first(head)) return 0;
        got = walk(hz3_list_first(head), out, want, &last, &rest, cls);
        more = HZ3_S48_OWNER_STASH_SPILL ? go_on(rest, HZ3_SMALL_V2_REFILL_BATCH - want, &kept, &beyond, cls) : 0;
        if (!more) beyond = rest;
        count = hz3_list_packed_count(head);
        left = hz3_list_word(beyond, count - hz3_min(count, got + more));
    } while (!hz3_cas_weak(list->head, &head, left, memory_order_acquire, memory_order_acquire));
    if (HZ3_S44_OWNER_STASH_COUNT) hz3_sub(list->count[0], got + more);
    count_drain(got + more);
    hz3_link_set(last, NULL);
    if (more) {
        hz3_link_set(kept, NULL);
        keep_or_put_back(list, cls, rest, more);
    }
    return got;
}

static unsigned drain(struct hz3_list *list, unsigned cls, void **out, unsigned want)
{
    return HZ3_S112_FULL_DRAIN_EXCHANGE ? drain_all(list, cls, out, want) : drain_some(list, cls, out, want);
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

unsigned hz3_linked_pop(struct hz3_stash *stash, struct hz3_list *list, unsigned cls, void **out, unsigned want)
{
    HZ3_COUNT(pop_calls, 1);
    HZ3_COUNT(want, want);
    HZ3_COUNT(want_32, want == 32);
    bool taker = !HZ3_STASH_ONE_TAKER || hz3_trylock(&stash->taker);
    void *hint = taker ? early_prefetch(list) : NULL;
    unsigned got = take_spilled(cls, out, want);
    HZ3_COUNT(spill_served, got);
    HZ3_COUNT(spill_hits, got > 0);
    if (taker && got < want) {
        hz3_instances_next(cls);
        if (!looks_empty(list, hint)) got += drain(list, cls, out + got, want - got);
    }
    if (HZ3_STASH_ONE_TAKER && taker) hz3_unlock(&stash->taker);
    return got;
}

/* ---- for reclaim and statistics ---- */

size_t hz3_linked_retire(struct hz3_stash *stash, struct hz3_list *list, unsigned cls)
{
    void *rest;
    uint32_t count;
    if (HZ3_STASH_ONE_TAKER && !hz3_trylock(&stash->taker)) return 0;
    rest = hz3_list_take_all(list, &count);
    if (HZ3_STASH_ONE_TAKER) hz3_unlock(&stash->taker);
    return retire_list(rest, cls);
}

size_t hz3_linked_objects(struct hz3_stash *stash, struct hz3_list *list, unsigned cls)
{
    /* Walked, since a count in a word of its own is approximate. */
    uint32_t count;
    unsigned retries;
    void *last = NULL, *end;
    if (HZ3_STASH_ONE_TAKER) hz3_lock(&stash->taker);
    void *first = hz3_list_take_all(list, &count);
    unsigned n = go_on(first, HZ3_LIST_MAX, &last, &end, cls);
    if (end) hz3_misuse("double free", end); /* more than a list holds: it leads to itself */
    if (first && hz3_list_push(list, first, last, n, HZ3_LIST_MAX, &retries) < 0) {
        hz3_link_set(last, NULL); /* as in put_back */
        retire_list(first, cls);
    }
    if (HZ3_STASH_ONE_TAKER) hz3_unlock(&stash->taker);
    return n;
}

size_t hz3_linked_flush_spill(struct hz3_spill *spill, unsigned cls)
{
    size_t flushed = spill->in_array;
    if (spill->in_array) hz3_central_retire(cls, &((void **)spill->array->word)[1], spill->in_array);
    if (spill->array) hz3_magazine_put(cls, spill->array);
    flushed += retire_list(spill->list, cls);
    *spill = (struct hz3_spill){0};
    return flushed;
}
