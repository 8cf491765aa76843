/* A stack with many pushers and poppers: one word, changed by compare-and-swap.
 *
 *      | pops so far: 28 bits | nodes in it: 10 bits | number of the top node: 26 bits |
 *
 * The count of pops defeats ABA: to be fooled, a popper has to be preempted between its load and its swap for an
 * exact multiple of 2^28 pops.  Where more nodes are in it than their count can say, the two counts carry, and still
 * each push and each pop makes them together a larger number.  Reading the link of a node that has left the stack is
 * harmless, since nodes are never unmapped.  Numbers start at 1; 0 is none.  The including file says what a node is, by
 * defining hz3_stack_link. */
#pragma once

#include "base/types.h"

#include <limits.h>

struct hz3_stack {
    HZ3_ATOMIC(uint64_t) head;
};

enum {
    HZ3_STACK_NUMBER_BITS = 26,
    HZ3_STACK_COUNT_BITS = 10,
    HZ3_STACK_COUNT_MASK = (1 << HZ3_STACK_COUNT_BITS) - 1,
    HZ3_STACK_MAX = 500, /* bound of a stack whose count is used */
};
#define HZ3_STACK_NUMBER_MASK (((uint64_t)1 << HZ3_STACK_NUMBER_BITS) - 1)
#define HZ3_STACK_ONE         ((uint64_t)1 << HZ3_STACK_NUMBER_BITS)
#define HZ3_STACK_POP         ((uint64_t)1 << (HZ3_STACK_NUMBER_BITS + HZ3_STACK_COUNT_BITS))

/* Where a node keeps the number of the node below. */
static inline HZ3_ATOMIC(uint32_t) * hz3_stack_link(uint32_t number);

HZ3_INLINE unsigned hz3_stack_count_of(uint64_t head)
{
    return (unsigned)(head >> HZ3_STACK_NUMBER_BITS) & HZ3_STACK_COUNT_MASK;
}

/* A chain: `nodes` of them, each linked to the one below. */
struct hz3_stack_chain {
    uint32_t top, bottom, nodes;
};

/* Puts the chain on top, if the stack counts no more than `most` nodes then.  *replaced: the head before. */
HZ3_INLINE bool hz3_stack_put_chain(struct hz3_stack *stack, struct hz3_stack_chain chain, unsigned most,
                                    uint64_t *replaced)
{
    uint64_t old = hz3_get(stack->head), now;
    do {
        if (hz3_stack_count_of(old) + chain.nodes > most) return false;
        hz3_set(*hz3_stack_link(chain.bottom), (uint32_t)(old & HZ3_STACK_NUMBER_MASK));
        now = (old & ~HZ3_STACK_NUMBER_MASK) + chain.nodes * HZ3_STACK_ONE + chain.top;
        /* Release: a thread that takes the nodes sees the links, and what the nodes hold. */
    } while (!hz3_cas_weak(stack->head, &old, now, memory_order_release, memory_order_relaxed));
    *replaced = old;
    return true;
}

/* Puts a node on top, whatever the count; returns the head that it replaced. */
HZ3_INLINE uint64_t hz3_stack_put(struct hz3_stack *stack, uint32_t number)
{
    uint64_t replaced;
    hz3_stack_put_chain(stack, (struct hz3_stack_chain){number, number, 1}, UINT_MAX, &replaced);
    return replaced;
}

/* Takes *nodes from the top, 1 at least, or as many as there are; returns the top one, with the others linked below it,
 * or 0.  *nodes: how many it took.  *replaced: the head before. */
HZ3_INLINE uint32_t hz3_stack_take_chain(struct hz3_stack *stack, uint32_t *nodes, uint64_t *replaced)
{
    uint64_t old = hz3_get(stack->head), now;
    if (!(old & HZ3_STACK_NUMBER_MASK)) return 0; /* an empty stack is not written */
    uint32_t most = *nodes, taken;
    old = hz3_load(stack->head, memory_order_acquire);
    do {
        uint32_t number = (uint32_t)(old & HZ3_STACK_NUMBER_MASK), below;
        if (!number) return 0;
        /* If the head has not changed, no link below it has. */
        below = hz3_get(*hz3_stack_link(number));
        for (taken = 1; taken < most && below; taken++) below = hz3_get(*hz3_stack_link(below));
        now = old - number - taken * HZ3_STACK_ONE + HZ3_STACK_POP + below;
    } while (!hz3_cas_weak(stack->head, &old, now, memory_order_acquire, memory_order_acquire));
    *nodes = taken;
    *replaced = old;
    return (uint32_t)(old & HZ3_STACK_NUMBER_MASK);
}

/* Takes the top node, or returns 0.  *replaced: the head before. */
HZ3_INLINE uint32_t hz3_stack_take(struct hz3_stack *stack, uint64_t *replaced)
{
    uint32_t nodes = 1;
    return hz3_stack_take_chain(stack, &nodes, replaced);
}
