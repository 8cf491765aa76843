/* The inline functions of src/middle/stack.h, out of line, with numbers as nodes. */
#include "middle/stack.h"

enum { NODES = 8 };

static struct hz3_stack stack;
static HZ3_ATOMIC(uint32_t) links[NODES];

static inline HZ3_ATOMIC(uint32_t) * hz3_stack_link(uint32_t number)
{
    return &links[number];
}

unsigned model_count(void)
{
    return hz3_stack_count_of(hz3_get(stack.head));
}

unsigned model_put(uint32_t number)
{
    return hz3_stack_count_of(hz3_stack_put(&stack, number));
}

uint32_t model_take(unsigned *before)
{
    uint64_t replaced = 0;
    uint32_t number = hz3_stack_take(&stack, &replaced);
    *before = hz3_stack_count_of(replaced);
    return number;
}

/* A chain of two, the top linked to the bottom, if there are no more than `most` then. */
unsigned model_put_two(uint32_t top, uint32_t bottom, unsigned most)
{
    uint64_t replaced;
    struct hz3_stack_chain chain = {top, bottom, 2};
    hz3_set(*hz3_stack_link(top), bottom);
    return hz3_stack_put_chain(&stack, chain, most, &replaced);
}

uint32_t model_take_some(uint32_t *nodes)
{
    uint64_t replaced;
    return hz3_stack_take_chain(&stack, nodes, &replaced);
}

uint32_t model_below(uint32_t number)
{
    return hz3_get(*hz3_stack_link(number));
}
