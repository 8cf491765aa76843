/* Proves that malloc_trim gives a burst's memory back at once, and returns whether it gave back any. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static void a_burst_goes_back(size_t size)
{
    enum { BURST = MIB(128) };
    size_t count = BURST / size, before = resident_bytes();
    void **p = malloc(count * sizeof(*p));
    assert_non_null(p);
    for (size_t i = 0; i < count; i++) {
        p[i] = malloc(size);
        assert_non_null(p[i]);
        memset(p[i], 1, size);
    }
    assert_true(resident_bytes() > before + BURST * 9 / 10);
    for (size_t i = 0; i < count; i++) free(p[i]);
    free(p);
    malloc_trim(0);
    assert_true(resident_bytes() < before + BURST / 20);
}

static void small_blocks(void **state)
{
    (void)state;
    a_burst_goes_back(700);
}

static void medium_blocks(void **state)
{
    (void)state;
    a_burst_goes_back(20000);
}

static void large_blocks(void **state)
{
    (void)state;
    a_burst_goes_back(MIB(1) + 1);
}

static void the_answer_is_yes_or_no(void **state)
{
    (void)state;
    int first = malloc_trim(0);
    assert_true(first == 0 || first == 1);
    assert_int_equal(malloc_trim(0), 0); /* nothing was freed since */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_blocks),
        cmocka_unit_test(medium_blocks),
        cmocka_unit_test(large_blocks),
        cmocka_unit_test(the_answer_is_yes_or_no),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
