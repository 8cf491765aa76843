/* The list word holds the first object and the count, and changes both at once.  A variant keeps the count apart. */
#include "../unit/unit.h"

static inline void *hz3_link_get(void *object)
{
    return *(void **)object;
}

static inline void hz3_link_set(void *object, void *next)
{
    *(void **)object = next;
}

#include "variants/list.h"

enum { OBJECTS = 8 };
static struct object {
    void *next, *rest;
} __attribute__((aligned(HZ3_UNIT))) object[OBJECTS];

/* Links n objects, beginning with object[first]. */
static void *chain(int first, int n)
{
    for (int i = first; i < first + n - 1; i++) object[i].next = &object[i + 1];
    return &object[first];
}

static void pushes_come_in_front(void **state)
{
    (void)state;
    struct hz3_list list = {0};
    unsigned retries;
    uint32_t count = 1;
    assert_null(hz3_list_take_all(&list, &count));
    assert_int_equal(count, 0);
    assert_int_equal(hz3_list_push(&list, chain(0, 3), &object[2], 3, 100, &retries), 0);
    assert_int_equal(hz3_list_push(&list, &object[3], &object[3], 1, 100, &retries), 3);
    assert_int_equal(retries, 0);
    assert_int_equal(hz3_list_count(&list), 4);
    void *first = hz3_list_take_all(&list, &count);
    static const int order[] = {3, 0, 1, 2};
    assert_int_equal(count, 4);
    for (int i = 0; i < 4; i++, first = hz3_link_get(first)) assert_ptr_equal(first, &object[order[i]]);
    assert_null(first);
    assert_int_equal(hz3_list_count(&list), 0);
}

static void a_push_beyond_the_bound_changes_nothing(void **state)
{
    (void)state;
    struct hz3_list list = {0};
    unsigned retries;
    uint32_t count;
    assert_true(hz3_list_push(&list, chain(0, 3), &object[2], 3, 2, &retries) < 0);
    assert_int_equal(hz3_list_count(&list), 0);
    assert_int_equal(hz3_list_push(&list, chain(0, 3), &object[2], 3, 3, &retries), 0);
    assert_true(hz3_list_push(&list, &object[3], &object[3], 1, 3, &retries) < 0);
    assert_ptr_equal(hz3_list_take_all(&list, &count), &object[0]);
    assert_int_equal(count, 3);
}

/* A drain may take a push's objects before the push adds to the count, which is then too high. */
static void an_empty_list_has_room(void **state)
{
    (void)state;
    struct hz3_list list = {0};
    unsigned retries;
    if (!HZ3_S44_OWNER_STASH_COUNT) skip();
    hz3_set(list.count[0], 2);
    assert_true(hz3_list_push(&list, chain(0, 2), &object[1], 2, 2, &retries) >= 0);
}

static void a_rest_goes_back_only_where_nothing_came(void **state)
{
    (void)state;
    struct hz3_list list = {0};
    unsigned retries;
    uint32_t count;
    assert_true(hz3_list_restore(&list, chain(0, 2), 2));
    assert_int_equal(hz3_list_count(&list), 2);
    assert_false(hz3_list_restore(&list, &object[3], 1));
    hz3_list_take_all(&list, &count);
    assert_int_equal(count, 2);
    hz3_list_push(&list, &object[4], &object[4], 1, 100, &retries);
    assert_false(hz3_list_restore(&list, chain(0, 2), 2));
    assert_int_equal(hz3_list_count(&list), 1);
}

/* One word holds every address of 47 bits, which is all a program has, with every count up to the bound. */
static void addresses_and_counts_do_not_touch(void **state)
{
    (void)state;
    void *highest = (void *)(((uintptr_t)1 << 47) - HZ3_UNIT);
    uint64_t word = hz3_list_word(highest, HZ3_LIST_MAX);
    assert_ptr_equal(hz3_list_first(word), highest);
    assert_int_equal(hz3_list_packed_count(word), HZ3_S44_OWNER_STASH_COUNT ? 0 : HZ3_LIST_MAX);
    assert_true(HZ3_S44_STASH_MAX_OBJS < HZ3_LIST_MAX);
}

RUN(cmocka_unit_test(pushes_come_in_front), cmocka_unit_test(a_push_beyond_the_bound_changes_nothing),
    cmocka_unit_test(a_rest_goes_back_only_where_nothing_came), cmocka_unit_test(addresses_and_counts_do_not_touch),
    cmocka_unit_test(an_empty_list_has_room))
