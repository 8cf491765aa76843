#include "middle/magazine.h"

enum {
    EMPTY_STACKS = 16,
    BATCH = 4, /* magazines taken from the area at a time: neighbours, so one thread's */
};
static const uint64_t number_mask = ((uint64_t)1 << 26) - 1, count_one = (uint64_t)1 << 26,
                      count_mask = (uint64_t)0x3ff << 26, pop_one = (uint64_t)1 << 36;

const struct hz3_magazine hz3_magazine_stub;
struct hz3_lock hz3_magazine_lock;
static struct hz3_magazine_stack empties[EMPTY_STACKS];

_Static_assert(HZ3_MAGAZINE_AREA_BITS <= 26 + 8, "26 bits number every magazine of the area");

/* Numbers count from 1. */
static uint64_t number_of(const struct hz3_magazine *magazine)
{
    return ((uintptr_t)magazine - hz3_magazine_area) / HZ3_MAGAZINE_BYTES + 1;
}

static struct hz3_magazine *numbered(uint64_t number)
{
    return (struct hz3_magazine *)(hz3_magazine_area + (number - 1) * HZ3_MAGAZINE_BYTES);
}

void hz3_stack_push(struct hz3_magazine_stack *stack, struct hz3_magazine *magazine)
{
    uint64_t old = hz3_get(stack->head), new;
    do {
        hz3_set(magazine->header.next, (uint32_t)(old & number_mask));
        new = (old & ~(number_mask | count_mask)) | ((old + count_one) & count_mask) | number_of(magazine);
        /* Release: who pops it sees the link and what the magazine holds. */
    } while (
        !atomic_compare_exchange_weak_explicit(&stack->head, &old, new, memory_order_release, memory_order_relaxed));
}

struct hz3_magazine *hz3_stack_pop(struct hz3_magazine_stack *stack)
{
    uint64_t old = hz3_get(stack->head), new;
    struct hz3_magazine *magazine;
    if (!(old & number_mask)) return NULL; /* looked at before it is written */
    old = atomic_load_explicit(&stack->head, memory_order_acquire);
    do {
        if (!(old & number_mask)) return NULL;
        magazine = numbered(old & number_mask);
        new = ((old & ~(number_mask | count_mask)) + pop_one) | ((old - count_one) & count_mask) |
              hz3_get(magazine->header.next);
    } while (
        !atomic_compare_exchange_weak_explicit(&stack->head, &old, new, memory_order_acquire, memory_order_acquire));
    return magazine;
}

static struct hz3_magazine *carve(unsigned hint)
{
    hz3_lock(&hz3_magazine_lock);
    uintptr_t batch = hz3_map_magazines(sizeof(struct hz3_magazine) * BATCH);
    hz3_unlock(&hz3_magazine_lock);
    struct hz3_magazine *magazines = (struct hz3_magazine *)batch;
    for (int i = 1; batch && i < BATCH; i++) hz3_magazine_put(hint, &magazines[i]);
    return magazines;
}

struct hz3_magazine *hz3_magazine_get(unsigned hint)
{
    for (unsigned i = 0; i < EMPTY_STACKS; i++) {
        struct hz3_magazine *magazine = hz3_stack_pop(&empties[(hint + i) % EMPTY_STACKS]);
        if (magazine) return magazine;
    }
    return carve(hint);
}

void hz3_magazine_put(unsigned hint, struct hz3_magazine *magazine)
{
    hz3_stack_push(&empties[hint % EMPTY_STACKS], magazine);
}
