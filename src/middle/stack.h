/* A stack with many pushers and poppers: one word, changed by compare-and-swap.
 *
 *      | pops so far: 28 bits | nodes in it: 10 bits | number of the top node: 26 bits |
 *
 * The count of pops defeats ABA: to be fooled, a popper has to be preempted between its load and its swap for an
 * exact multiple of 2^28 pops.  Reading the link of a node that has left the stack is harmless: nodes are never
 * unmapped.  Numbers count from 1; 0 is none.  Who includes this says what a node is, by hz3_stack_link. */
#ifndef HZ3_MIDDLE_STACK_H
#define HZ3_MIDDLE_STACK_H

#include "base/types.h"

struct hz3_stack {
    HZ3_ATOMIC(uint64_t) head;
};

enum {
    HZ3_STACK_NUMBER_BITS = 26,
    HZ3_STACK_COUNT_BITS = 10,
    HZ3_STACK_COUNT_MASK = (1 << HZ3_STACK_COUNT_BITS) - 1,
    HZ3_STACK_MAX = 500, /* a stack whose count is asked for holds no more, but for those who pass the bound at once */
};
#define HZ3_STACK_NUMBER_MASK (((uint64_t)1 << HZ3_STACK_NUMBER_BITS) - 1)
#define HZ3_STACK_ONE         ((uint64_t)1 << HZ3_STACK_NUMBER_BITS)
#define HZ3_STACK_COUNTS      ((uint64_t)HZ3_STACK_COUNT_MASK << HZ3_STACK_NUMBER_BITS)
#define HZ3_STACK_POP         ((uint64_t)1 << (HZ3_STACK_NUMBER_BITS + HZ3_STACK_COUNT_BITS))

/* Where the number of the node below is kept: an atomic uint32_t. */
static inline HZ3_ATOMIC(uint32_t) * hz3_stack_link(uint32_t number);

HZ3_INLINE unsigned hz3_stack_count_of(uint64_t head)
{
    return (unsigned)(head >> HZ3_STACK_NUMBER_BITS) & HZ3_STACK_COUNT_MASK;
}

/* Returns the head it replaced. */
HZ3_INLINE uint64_t hz3_stack_put(struct hz3_stack *stack, uint32_t number)
{
    uint64_t old = hz3_get(stack->head), now;
    do {
        hz3_set(*hz3_stack_link(number), (uint32_t)(old & HZ3_STACK_NUMBER_MASK));
        now = (old & ~(HZ3_STACK_NUMBER_MASK | HZ3_STACK_COUNTS)) | ((old + HZ3_STACK_ONE) & HZ3_STACK_COUNTS) | number;
        /* Release: who takes it sees the link and what the node holds. */
    } while (!hz3_cas_weak(stack->head, &old, now, memory_order_release, memory_order_relaxed));
    return old;
}

/* The top node, or 0.  *replaced: the head it was taken from. */
HZ3_INLINE uint32_t hz3_stack_take(struct hz3_stack *stack, uint64_t *replaced)
{
    uint64_t old = hz3_get(stack->head), now;
    if (!(old & HZ3_STACK_NUMBER_MASK)) return 0; /* looked at before it is written */
    old = hz3_load(stack->head, memory_order_acquire);
    do {
        uint32_t number = (uint32_t)(old & HZ3_STACK_NUMBER_MASK);
        if (!number) return 0;
        now = ((old & ~(HZ3_STACK_NUMBER_MASK | HZ3_STACK_COUNTS)) + HZ3_STACK_POP) |
              ((old - HZ3_STACK_ONE) & HZ3_STACK_COUNTS) | hz3_get(*hz3_stack_link(number));
    } while (!hz3_cas_weak(stack->head, &old, now, memory_order_acquire, memory_order_acquire));
    *replaced = old;
    return (uint32_t)(old & HZ3_STACK_NUMBER_MASK);
}

/* The top node with all that are linked below it, or 0.  Only for a stack from which nobody takes single nodes: the
 * count of pops starts again. */
HZ3_INLINE uint32_t hz3_stack_take_all(struct hz3_stack *stack, uint64_t *replaced)
{
    if (!(hz3_get(stack->head) & HZ3_STACK_NUMBER_MASK)) return 0;
    *replaced = hz3_exchange(stack->head, 0, memory_order_acquire);
    return (uint32_t)(*replaced & HZ3_STACK_NUMBER_MASK);
}
#endif
