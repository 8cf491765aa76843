/* The stack word: its count is exact, and its count of pops tells an old head from a new one (ABA). */
#include "unit.h"

#include "middle/stack.h"

enum { NODES = 1100 };
static HZ3_ATOMIC(uint32_t) link[NODES + 1];

static inline HZ3_ATOMIC(uint32_t) * hz3_stack_link(uint32_t number)
{
    return &link[number];
}

static void it_counts_and_returns_what_it_replaced(void **state)
{
    (void)state;
    struct hz3_stack stack = {0};
    uint64_t replaced = 0;
    assert_int_equal(hz3_stack_take(&stack, &replaced), 0);
    for (uint32_t n = 1; n <= HZ3_STACK_MAX; n++) {
        assert_int_equal(hz3_stack_count_of(hz3_stack_put(&stack, n)), n - 1);
        assert_int_equal(hz3_stack_count_of(hz3_get(stack.head)), n);
    }
    for (uint32_t n = HZ3_STACK_MAX; n; n--) {
        assert_int_equal(hz3_stack_take(&stack, &replaced), n);
        assert_int_equal(hz3_stack_count_of(replaced), n);
    }
    assert_int_equal(hz3_stack_take(&stack, &replaced), 0);
}

static void a_chain_comes_and_goes_whole(void **state)
{
    (void)state;
    struct hz3_stack stack = {0};
    uint64_t replaced = 0;
    uint32_t nodes = 3;
    hz3_stack_put(&stack, 1);
    for (uint32_t n = 3; n <= 5; n++) hz3_set(link[n], n - 1);
    struct hz3_stack_chain chain = {.top = 5, .bottom = 2, .nodes = 4};
    assert_false(hz3_stack_put_chain(&stack, chain, 4, &replaced));
    assert_int_equal(hz3_stack_count_of(hz3_get(stack.head)), 1);
    assert_true(hz3_stack_put_chain(&stack, chain, 5, &replaced));
    assert_int_equal(hz3_stack_count_of(replaced), 1);
    assert_int_equal(hz3_stack_count_of(hz3_get(stack.head)), 5);
    assert_int_equal(hz3_stack_take_chain(&stack, &nodes, &replaced), 5);
    assert_int_equal(nodes, 3);
    assert_int_equal(hz3_stack_count_of(replaced), 5);
    for (uint32_t n = 5; n > 3; n--) assert_int_equal(hz3_get(link[n]), n - 1);
    assert_int_equal(hz3_stack_take_chain(&stack, &nodes, &replaced), 2);
    assert_int_equal(nodes, 2); /* as many as there were */
    assert_int_equal(hz3_stack_count_of(hz3_get(stack.head)), 0);
    assert_int_equal(hz3_stack_take_chain(&stack, &nodes, &replaced), 0);
}

/* A tag of 12 bits, as other allocators have, would repeat after 4096 pops. */
static void a_head_does_not_come_back(void **state)
{
    (void)state;
    struct hz3_stack stack = {0};
    uint64_t replaced = 0, before;
    hz3_stack_put(&stack, 1);
    hz3_stack_put(&stack, 2);
    before = hz3_get(stack.head);
    for (unsigned pops = 1; pops <= 1u << 20; pops++) {
        assert_int_equal(hz3_stack_take(&stack, &replaced), 2);
        hz3_stack_put(&stack, 2);
        assert_true(hz3_get(stack.head) != before);
    }
}

static void more_nodes_than_it_counts_keep_their_order(void **state)
{
    (void)state;
    struct hz3_stack stack = {0};
    uint64_t replaced = 0;
    for (uint32_t n = 1; n <= NODES; n++) hz3_stack_put(&stack, n);
    for (uint32_t n = NODES; n > HZ3_STACK_COUNT_MASK / 2; n--) {
        uint64_t before = hz3_get(stack.head);
        assert_int_equal(hz3_stack_take(&stack, &replaced), n);
        hz3_stack_put(&stack, n);
        assert_true(hz3_get(stack.head) != before);
        assert_int_equal(hz3_stack_take(&stack, &replaced), n);
        assert_int_equal(hz3_stack_count_of(replaced), n % (HZ3_STACK_COUNT_MASK + 1));
    }
}

static void the_largest_number_fits(void **state)
{
    (void)state;
    uint32_t most = HZ3_STACK_NUMBER_MASK;
    struct hz3_stack stack = {most | HZ3_STACK_ONE};
    assert_int_equal(hz3_get(stack.head) & HZ3_STACK_NUMBER_MASK, most);
    assert_int_equal(hz3_stack_count_of(hz3_get(stack.head)), 1);
    assert_true(HZ3_STACK_MAX < HZ3_STACK_COUNT_MASK);
}

RUN(cmocka_unit_test(it_counts_and_returns_what_it_replaced), cmocka_unit_test(a_chain_comes_and_goes_whole),
    cmocka_unit_test(a_head_does_not_come_back), cmocka_unit_test(more_nodes_than_it_counts_keep_their_order),
    cmocka_unit_test(the_largest_number_fits))
