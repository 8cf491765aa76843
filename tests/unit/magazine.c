/* Magazines: the stub is both empty and full, floors bound capacity, and stacks under contention lose no magazine and
 * hand none out twice. */
#include "unit.h"

#include "middle/magazine.h"

#include <pthread.h>

static void the_stub_is_empty_and_full(void **state)
{
    (void)state;
    assert_null(*HZ3_STUB_TOP);
    assert_int_equal((uintptr_t)(HZ3_STUB_TOP + 1) % HZ3_MAGAZINE_BYTES, 0);
}

static void a_floor_bounds_capacity(void **state)
{
    (void)state;
    struct hz3_magazine *magazine = hz3_magazine_get(0);
    for (unsigned capacity = 1; capacity <= 30; capacity++) {
        memset(magazine, 0xff, sizeof *magazine);
        void **top = hz3_magazine_open(magazine, capacity);
        assert_null(*top);
        unsigned n = 0;
        for (; (uintptr_t)(top + 1) % HZ3_MAGAZINE_BYTES; n++) *++top = magazine;
        assert_int_equal(n, capacity);
        assert_ptr_equal(hz3_magazine_close(top), magazine);
        assert_int_equal(hz3_magazine_count(magazine), capacity);
    }
    hz3_magazine_put(0, magazine);
}

static void a_stack_is_last_in_first_out_and_counts(void **state)
{
    (void)state;
    struct hz3_stack stack = {0};
    struct hz3_magazine *magazines[100];
    assert_null(hz3_stack_pop(&stack));
    for (unsigned i = 0; i < 100; i++) {
        magazines[i] = hz3_magazine_get(1);
        hz3_stack_push(&stack, magazines[i]);
        assert_int_equal(hz3_stack_count(&stack), i + 1);
    }
    for (unsigned i = 100; i--;) {
        assert_ptr_equal(hz3_stack_pop(&stack), magazines[i]);
        assert_int_equal(hz3_stack_count(&stack), i);
        hz3_magazine_put(1, magazines[i]);
    }
    assert_null(hz3_stack_pop(&stack));
}

enum { THREADS = 4, MAGAZINES = 8, ROUNDS = 200000 };
static struct hz3_stack contended;

/* Pops, claims, releases and pushes.  If two threads get the same magazine, the second claim fails. */
static void *pop_and_push(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct hz3_magazine *magazine = hz3_stack_pop(&contended);
        if (!magazine) continue;
        _Atomic uintptr_t *claim = (_Atomic uintptr_t *)&magazine->word[5];
        if (atomic_exchange(claim, 1) != 0) return "twice";
        hz3_set(*claim, 0);
        hz3_stack_push(&contended, magazine);
    }
    return unused;
}

static void nothing_is_lost_or_doubled_under_contention(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (int i = 0; i < MAGAZINES; i++) {
        struct hz3_magazine *magazine = hz3_magazine_get(2);
        magazine->word[5] = NULL;
        hz3_stack_push(&contended, magazine);
    }
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, pop_and_push, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *complaint;
        pthread_join(threads[i], &complaint);
        assert_null(complaint);
    }
    assert_int_equal(hz3_stack_count(&contended), MAGAZINES);
    int left = 0;
    while (hz3_stack_pop(&contended)) left++;
    assert_int_equal(left, MAGAZINES);
}

RUN(cmocka_unit_test(the_stub_is_empty_and_full), cmocka_unit_test(a_floor_bounds_capacity),
    cmocka_unit_test(a_stack_is_last_in_first_out_and_counts),
    cmocka_unit_test(nothing_is_lost_or_doubled_under_contention))
