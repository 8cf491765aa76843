/* The owner stash's transport of whole magazines. */
#include "base/sizeclass.h"
#include "middle/central.h"
#include "middle/owner_stash_transport.h"
#include HZ3_FULL_DRAIN_H

static bool push(struct hz3_stash *stash, struct hz3_stack *stack, unsigned cls, struct hz3_magazine *magazine)
{
    unsigned max = hz3_min(HZ3_S44_STASH_MAX_OBJS / hz3_class_info[cls].load, (unsigned)HZ3_STACK_MAX), retries;
    /* Several threads at once may find room for one: each of them may add one. */
    if (hz3_stack_count(stack) >= hz3_max(max, 1u)) return false;
    unsigned before = hz3_stack_count_of(hz3_stack_put_counted(stack, hz3_magazine_number(magazine), &retries));
    hz3_stash_book(stash, cls, before, before + 1);
    return true;
}

bool hz3_transport_push_magazine(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls,
                                 struct hz3_magazine *magazine)
{
    return push(stash, &bin->stack, cls, magazine);
}

bool hz3_transport_push_list(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls, void *head, void *tail,
                             unsigned n)
{
    struct hz3_magazine *magazine = n <= hz3_class_info[cls].load ? hz3_magazine_get(cls) : NULL;
    if (!magazine) return false;
    void **top = hz3_magazine_open(magazine, n);
    *++top = head;
    for (void *object = head; object != tail; *++top = object) object = hz3_link_get(object);
    if (push(stash, &bin->stack, cls, hz3_magazine_close(top))) return true;
    hz3_magazine_put(cls, magazine);
    return false;
}

/* Puts back what was in the bin before: beyond its bound if need be, but not beyond what its head can count. */
static void put_back(struct hz3_stash *stash, struct hz3_stack *stack, unsigned cls, struct hz3_magazine *magazine)
{
    if (hz3_stack_count(stack) >= HZ3_STACK_MAX) {
        hz3_central_take_apart(cls, magazine);
        return;
    }
    unsigned before = hz3_stack_count_of(hz3_stack_put(stack, hz3_magazine_number(magazine)));
    hz3_stash_book(stash, cls, before, before + 1);
}

/* ---- pops ---- */

/* The spill keeps what it has room for; the others are put back. */
static void keep(struct hz3_stash *stash, struct hz3_stack *stack, unsigned cls, struct hz3_magazine *rest)
{
    for (struct hz3_magazine *next; rest; rest = next) {
        next = hz3_magazine_below(rest);
        if (hz3_spill_put(cls, rest)) continue;
        put_back(stash, stack, cls, rest);
    }
}

/* Takes the top magazine; with full drain all of them, which stay linked below it. */
static struct hz3_magazine *take(struct hz3_stash *stash, struct hz3_stack *stack, unsigned cls)
{
    uint64_t replaced = 0;
    uint32_t number = hz3_drain_take(stack, &replaced);
    unsigned before = hz3_stack_count_of(replaced);
    if (!number) return NULL;
    hz3_stash_book(stash, cls, before, hz3_drain_left(before));
    return hz3_magazine_numbered(number);
}

struct hz3_magazine *hz3_transport_pop_magazine(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls)
{
    struct hz3_magazine *magazine = hz3_spill_get(cls);
    if (magazine) {
        return magazine;
    }
    magazine = take(stash, &bin->stack, cls);
    if (!magazine) return NULL;
    struct hz3_magazine *rest = hz3_drain_next(magazine);
    keep(stash, &bin->stack, cls, rest);
    return magazine;
}

unsigned hz3_transport_pop_batch(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls, void **out, unsigned want)
{
    struct hz3_magazine *magazine = hz3_transport_pop_magazine(stash, bin, cls);
    if (!magazine) return 0;
    unsigned got = hz3_min(want, hz3_magazine_count(magazine));
    for (unsigned i = 0; i < got; i++) out[i] = magazine->word[magazine->header.top--];
    if (hz3_magazine_count(magazine))
        put_back(stash, &bin->stack, cls, magazine);
    else
        hz3_magazine_put(cls, magazine);
    return got;
}

/* ---- for reclaim and statistics ---- */

size_t hz3_transport_retire(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls)
{
    size_t objects = 0;
    unsigned most = hz3_stack_count(&bin->stack); /* leaves what comes meanwhile, so as to end */
    struct hz3_magazine *magazine, *next;
    while (most-- && (magazine = take(stash, &bin->stack, cls)))
        for (; magazine; magazine = next) {
            next = hz3_drain_next(magazine);
            objects += hz3_magazine_count(magazine);
            hz3_central_take_apart(cls, magazine);
        }
    return objects;
}

uint32_t hz3_transport_count(struct hz3_bin *bin, unsigned cls)
{
    return hz3_stack_count(&bin->stack) * hz3_class_info[cls].load;
}

size_t hz3_transport_objects(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls)
{
    /* How full a magazine is can only be read after it was taken. */
    struct hz3_magazine *taken = NULL, *magazine, *next;
    size_t objects = 0;
    for (unsigned most = hz3_stack_count(&bin->stack); most-- && (magazine = take(stash, &bin->stack, cls));)
        for (; magazine; magazine = next) {
            next = hz3_drain_next(magazine);
            objects += hz3_magazine_count(magazine);
            hz3_set(magazine->header.next, taken ? hz3_magazine_number(taken) : 0);
            taken = magazine;
        }
    for (; taken; taken = next) {
        next = hz3_magazine_below(taken);
        put_back(stash, &bin->stack, cls, taken);
    }
    return objects;
}
