/* The owner stash's transport of whole magazines. */
#include "base/sizeclass.h"
#include "middle/central.h"
#include "middle/owner_stash_transport.h"

static bool push(struct hz3_stash *stash, struct hz3_stack *stack, unsigned sc, struct hz3_magazine *magazine)
{
    unsigned max = hz3_min(HZ3_S44_STASH_MAX_OBJS / hz3_class_info[sc].load, (unsigned)HZ3_STACK_MAX), retries;
    /* Several pushers may pass at the bound: each adds one. */
    if (hz3_stack_count(stack) >= hz3_max(max, 1u)) return false;
    unsigned n = hz3_magazine_count(magazine);
    unsigned before = hz3_stack_count_of(hz3_stack_put_counted(stack, hz3_magazine_number(magazine), &retries));
    hz3_stash_book(stash, sc, before, before + 1);
    HZ3_COUNT(HZ3_S96_OWNER_STASH_PUSH_STATS, list_calls, 1);
    HZ3_COUNT(HZ3_S96_OWNER_STASH_PUSH_STATS, list_objs, n);
    HZ3_COUNT(HZ3_S96_OWNER_STASH_PUSH_STATS, list_retries, retries);
    HZ3_COUNT_MAX(HZ3_S96_OWNER_STASH_PUSH_STATS, list_retry_max, retries);
    return true;
}

bool hz3_magazines_push_magazine(struct hz3_stash *stash, union hz3_bin *bin, unsigned sc,
                                 struct hz3_magazine *magazine)
{
    return push(stash, &bin->magazines, sc, magazine);
}

bool hz3_magazines_push_list(struct hz3_stash *stash, union hz3_bin *bin, unsigned sc, void *head, void *tail,
                             unsigned n)
{
    struct hz3_magazine *magazine = n <= hz3_class_info[sc].load ? hz3_magazine_get(sc) : NULL;
    if (!magazine) return false;
    void **top = hz3_magazine_open(magazine, n);
    for (void *object = head; n--; object = object == tail ? NULL : hz3_link_get(object)) *++top = object;
    if (push(stash, &bin->magazines, sc, hz3_magazine_close(top))) return true;
    hz3_magazine_put(sc, magazine);
    return false;
}

/* What was in the bin before may go beyond its bound, but not beyond what its head can count. */
static void put_back(struct hz3_stash *stash, struct hz3_stack *stack, unsigned sc, struct hz3_magazine *magazine)
{
    if (hz3_stack_count(stack) >= HZ3_STACK_MAX) {
        hz3_central_take_apart(sc, magazine);
        return;
    }
    unsigned before = hz3_stack_count_of(hz3_stack_put(stack, hz3_magazine_number(magazine)));
    hz3_stash_book(stash, sc, before, before + 1);
}

/* ---- a drain of all, and the rest of it ---- */

static struct hz3_magazine *take_spilled(unsigned sc)
{
    struct hz3_outbox *outbox = HZ3_S48_OWNER_STASH_SPILL ? hz3_outbox : NULL;
    if (!outbox || !outbox->spill[sc].first) return NULL;
    struct hz3_spill *spill = &outbox->spill[sc];
    struct hz3_magazine *magazine = spill->first;
    spill->first = hz3_magazine_below(magazine);
    spill->count--;
    HZ3_COUNT(HZ3_S67_STATS, spill_served, hz3_magazine_count(magazine));
    return magazine;
}

/* Keeps what the spill has room for; puts back the others. */
static void keep(struct hz3_stash *stash, struct hz3_stack *stack, unsigned sc, struct hz3_magazine *rest)
{
    struct hz3_outbox *outbox = HZ3_S48_OWNER_STASH_SPILL && rest ? hz3_outbox_get() : NULL;
    for (struct hz3_magazine *next; rest; rest = next) {
        unsigned count = hz3_magazine_count(rest);
        next = hz3_magazine_below(rest);
        if (outbox && outbox->spill[sc].count < HZ3_SPILL_MAGAZINES) {
            struct hz3_spill *spill = &outbox->spill[sc];
            hz3_set(rest->header.next, spill->first ? hz3_magazine_number(spill->first) : 0);
            spill->first = rest;
            spill->count++;
            HZ3_COUNT(HZ3_S67_STATS, spill_kept, count);
        } else {
            put_back(stash, stack, sc, rest);
            HZ3_COUNT(HZ3_S67_STATS, spill_put_back, count);
        }
    }
}

/* The top magazine of those that were taken; with S112 the others are still linked below it. */
static struct hz3_magazine *take(struct hz3_stash *stash, struct hz3_stack *stack, unsigned sc)
{
    uint64_t replaced = 0;
    uint32_t number =
        HZ3_S112_FULL_DRAIN_EXCHANGE ? hz3_stack_take_all(stack, &replaced) : hz3_stack_take(stack, &replaced);
    unsigned before = hz3_stack_count_of(replaced);
    if (!number) return NULL;
    hz3_stash_book(stash, sc, before, HZ3_S112_FULL_DRAIN_EXCHANGE ? 0 : before - 1);
    return hz3_magazine_numbered(number);
}

struct hz3_magazine *hz3_magazines_pop_magazine(struct hz3_stash *stash, union hz3_bin *bin, unsigned sc)
{
    HZ3_COUNT(HZ3_S44_4_STATS, pop_calls, 1);
    HZ3_COUNT(HZ3_S44_4_STATS, want, hz3_class_info[sc].load);
    struct hz3_magazine *magazine = take_spilled(sc);
    if (magazine) {
        HZ3_COUNT(HZ3_S44_4_STATS, spill_hits, 1);
        return magazine;
    }
    magazine = take(stash, &bin->magazines, sc);
    if (!magazine) return NULL;
    struct hz3_magazine *rest = HZ3_S112_FULL_DRAIN_EXCHANGE ? hz3_magazine_below(magazine) : NULL;
    unsigned drained = hz3_magazine_count(magazine);
    for (struct hz3_magazine *more = rest; HZ3_S44_4_STATS && more; more = hz3_magazine_below(more))
        drained += hz3_magazine_count(more);
    HZ3_COUNT(HZ3_S44_4_STATS, drains, 1);
    HZ3_COUNT(HZ3_S44_4_STATS, drained, drained);
    HZ3_COUNT_MAX(HZ3_S44_4_STATS, drained_max, drained);
    keep(stash, &bin->magazines, sc, rest);
    return magazine;
}

unsigned hz3_magazines_pop_batch(struct hz3_stash *stash, union hz3_bin *bin, unsigned sc, void **out, unsigned want)
{
    struct hz3_magazine *magazine = hz3_magazines_pop_magazine(stash, bin, sc);
    if (!magazine) return 0;
    unsigned got = hz3_min(want, hz3_magazine_count(magazine));
    for (unsigned i = 0; i < got; i++) out[i] = magazine->word[magazine->header.top--];
    if (hz3_magazine_count(magazine))
        put_back(stash, &bin->magazines, sc, magazine);
    else
        hz3_magazine_put(sc, magazine);
    return got;
}

/* ---- home, and counting ---- */

size_t hz3_magazines_retire(struct hz3_stash *stash, union hz3_bin *bin, unsigned sc)
{
    size_t objects = 0;
    unsigned most = hz3_stack_count(&bin->magazines); /* not what comes meanwhile */
    struct hz3_magazine *magazine, *next;
    while (most-- && (magazine = take(stash, &bin->magazines, sc)))
        for (; magazine; magazine = next) {
            next = HZ3_S112_FULL_DRAIN_EXCHANGE ? hz3_magazine_below(magazine) : NULL;
            objects += hz3_magazine_count(magazine);
            hz3_central_take_apart(sc, magazine);
        }
    return objects;
}

uint32_t hz3_magazines_count(union hz3_bin *bin, unsigned sc)
{
    return hz3_stack_count(&bin->magazines) * hz3_class_info[sc].load;
}

size_t hz3_magazines_objects(struct hz3_stash *stash, union hz3_bin *bin, unsigned sc)
{
    /* A magazine's fill is only readable once it is ours. */
    struct hz3_magazine *taken = NULL, *magazine, *next;
    size_t objects = 0;
    for (unsigned most = hz3_stack_count(&bin->magazines); most-- && (magazine = take(stash, &bin->magazines, sc));)
        for (; magazine; magazine = next) {
            next = HZ3_S112_FULL_DRAIN_EXCHANGE ? hz3_magazine_below(magazine) : NULL;
            objects += hz3_magazine_count(magazine);
            hz3_set(magazine->header.next, taken ? hz3_magazine_number(taken) : 0);
            taken = magazine;
        }
    for (; taken; taken = next) {
        next = hz3_magazine_below(taken);
        put_back(stash, &bin->magazines, sc, taken);
    }
    return objects;
}

void hz3_magazines_flush_spill(struct hz3_spill *spill, unsigned sc)
{
    for (struct hz3_magazine *magazine = spill->first, *next; magazine; magazine = next) {
        next = hz3_magazine_below(magazine);
        hz3_central_take_apart(sc, magazine);
    }
    *spill = (struct hz3_spill){0};
}

HZ3_RACY size_t hz3_magazines_spilled(const struct hz3_spill *spill)
{
    size_t objects = 0;
    for (struct hz3_magazine *magazine = spill->first; magazine; magazine = hz3_magazine_below(magazine))
        objects += hz3_magazine_count(magazine);
    return objects;
}
