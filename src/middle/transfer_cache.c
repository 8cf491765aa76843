#include "middle/transfer_cache.h"

#include "base/layout.h"
#include "base/sizeclass.h"
#include "middle/central.h"

enum { MAGAZINES_MIN = 4, FULL_CLASSES = 16 };
#define SETTLE_BYTES HZ3_MIB(1)

static struct {
    struct hz3_stack stack;
    HZ3_ATOMIC(unsigned) low; /* fewest magazines in it since the last trim */
    unsigned max;             /* const after start, as is: */
    size_t bytes;             /* of objects, in a full magazine */
} HZ3_CACHE_ALIGNED cache[HZ3_CLASS_VALUES];

static size_t total_max; /* const after start */
/* Bytes in all stacks, modulo 2^64, without what threads have not settled.  A thread that pushes as much as it pops
 * settles nothing, and so writes nothing that others write.  A recount puts right what a thread never settled. */
static HZ3_ATOMIC(size_t) waiting;
static _Thread_local ptrdiff_t unsettled;

void hz3_transfer_start(size_t bytes)
{
    total_max = hz3_max(FULL_CLASSES * hz3_min(bytes, SIZE_MAX / FULL_CLASSES), HZ3_MIB(16));
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        size_t full = hz3_class_size(cls) * hz3_class_info[cls].load;
        cache[cls].bytes = full;
        cache[cls].max = (unsigned)hz3_min(hz3_max(bytes / full, MAGAZINES_MIN), HZ3_STACK_MAX);
    }
}

void hz3_transfer_settle(void)
{
    hz3_fence(memory_order_release); /* after the pushes that are counted here: hz3_transfer_recount */
    hz3_add(waiting, (size_t)unsettled);
    unsettled = 0;
}

static void book(ptrdiff_t bytes)
{
    unsettled += bytes;
    if (unlikely((size_t)unsettled + SETTLE_BYTES > 2 * SETTLE_BYTES)) hz3_transfer_settle();
}

size_t hz3_transfer_waiting(void)
{
    ptrdiff_t bytes = (ptrdiff_t)hz3_get(waiting);
    return bytes > 0 ? (size_t)bytes : 0;
}

HZ3_INLINE bool push(unsigned cls, struct hz3_stack_chain chain, unsigned max)
{
    uint64_t replaced;
    if (!hz3_stack_put_chain(&cache[cls].stack, chain, max, &replaced)) return false;
    book((ptrdiff_t)(chain.nodes * cache[cls].bytes));
    return true;
}

bool hz3_transfer_push_chain(unsigned cls, struct hz3_stack_chain chain)
{
    return hz3_transfer_waiting() < total_max && push(cls, chain, cache[cls].max);
}

bool hz3_transfer_push_anyway(unsigned cls, struct hz3_magazine *magazine)
{
    return push(cls, hz3_magazine_alone(magazine), HZ3_STACK_MAX);
}

struct hz3_magazine *hz3_transfer_pop_chain(unsigned cls, uint32_t *magazines)
{
    uint64_t replaced;
    uint32_t number = hz3_stack_take_chain(&cache[cls].stack, magazines, &replaced);
    if (!number) return NULL;
    unsigned count = hz3_stack_count_of(replaced) - *magazines;
    if (count < hz3_get(cache[cls].low)) hz3_set(cache[cls].low, count);
    book(-(ptrdiff_t)(*magazines * cache[cls].bytes));
    return hz3_magazine_numbered(number);
}

size_t hz3_transfer_trim(unsigned cls, bool all)
{
    unsigned excess = all ? HZ3_STACK_MAX : hz3_get(cache[cls].low), trimmed = 0;
    struct hz3_magazine *magazine;
    for (; trimmed < excess && (magazine = hz3_stack_pop(&cache[cls].stack)); trimmed++)
        hz3_central_take_apart(cls, magazine);
    hz3_set(cache[cls].low, hz3_stack_count(&cache[cls].stack));
    return trimmed * cache[cls].bytes;
}

void hz3_transfer_recount(void)
{
    size_t before = hz3_load(waiting, memory_order_acquire), bytes = 0;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) bytes += hz3_stack_count(&cache[cls].stack) * cache[cls].bytes;
    /* If a thread settled meanwhile, the sum may lack that: keep the old value.  Too much for a while is better than
     * too little for ever. */
    if (hz3_cas(waiting, &before, bytes, memory_order_relaxed, memory_order_relaxed)) unsettled = 0;
}

size_t hz3_transfer_count(unsigned cls, struct hz3_stack *stack)
{
    struct hz3_magazine *taken = NULL, *magazine;
    size_t objects = 0;
    uint64_t replaced;
    for (int n = 0; n < HZ3_STACK_MAX && (magazine = hz3_stack_pop(stack)); n++) {
        objects += hz3_magazine_count(magazine);
        hz3_set(magazine->header.next, taken ? hz3_magazine_number(taken) : 0);
        taken = magazine;
    }
    while ((magazine = taken)) {
        taken = hz3_magazine_below(magazine);
        if (!hz3_stack_put_chain(stack, hz3_magazine_alone(magazine), HZ3_STACK_MAX, &replaced))
            hz3_central_take_apart(cls, magazine);
    }
    return objects;
}

size_t hz3_transfer_objects(unsigned cls)
{
    return hz3_transfer_count(cls, &cache[cls].stack);
}

const struct hz3_place hz3_transfer_places[] = {
    HZ3_PLACES("transfer", cache),
    HZ3_FIELD("transfer.stack", cache[0], stack),
    HZ3_FIELD("transfer.max", cache[0], max),
    HZ3_NUMBER("transfer.magazines_min", MAGAZINES_MIN),
    HZ3_NUMBER("transfer.magazines_max", HZ3_STACK_MAX),
    HZ3_PLACES_END,
};
