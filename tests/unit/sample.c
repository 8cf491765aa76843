/* Sampling: how often allocations of a size are chosen, and that every malloc is slow while it is on. */
#include "unit.h"

#include "base/sizeclass.h"
#include "watch/sample.h"

enum { RATE = 4096 };

/* Within six standard deviations of a binomial distribution around 1 - exp(-size / RATE), given in millionths. */
static void expect_share(size_t size, unsigned millionths)
{
    enum { TRIES = 400000 };
    double share = millionths / 1e6, mean = TRIES * share, variance = mean * (1 - share);
    unsigned chosen = 0;
    hz3_sample_start(HZ3_SAMPLE_PROFILE, RATE);
    for (int i = 0; i < TRIES; i++) chosen += hz3_sample_chooses(size);
    hz3_sample_start(HZ3_SAMPLE_PROFILE, 0);
    double off = chosen - mean;
    assert_true(off * off <= 36 * variance + 1);
}

static void sizes_are_chosen_in_proportion(void **state)
{
    (void)state;
    expect_share(16, 3899);
    expect_share(256, 60587);
    expect_share(RATE, 632121);
    expect_share(4 * RATE, 981684);
}

static void nothing_is_chosen_while_it_pauses_or_is_off(void **state)
{
    (void)state;
    assert_false(hz3_sample_chooses(PTRDIFF_MAX));
    hz3_sample_start(HZ3_SAMPLE_PROFILE, 1);
    hz3_sample_pause();
    assert_false(hz3_sample_chooses(PTRDIFF_MAX));
    hz3_sample_go_on();
    assert_true(hz3_sample_chooses(PTRDIFF_MAX));
    hz3_sample_start(HZ3_SAMPLE_PROFILE, 0);
}

/* While one kind of sampling is on, allocations are counted for the other one too. */
static void what_was_counted_while_it_was_off_is_forgotten(void **state)
{
    (void)state;
    hz3_sample_start(HZ3_SAMPLE_GUARD, INT32_MAX);
    assert_false(hz3_sample_chooses(1));
    hz3_sample_start(HZ3_SAMPLE_PROFILE, (size_t)1 << 40);
    assert_false(hz3_sample_chooses(HZ3_MIB(1)));
    hz3_sample_start(HZ3_SAMPLE_PROFILE, 0);
    assert_false(hz3_sample_chooses(1));
    hz3_sample_start(HZ3_SAMPLE_GUARD, 0);
    hz3_sample_start(HZ3_SAMPLE_PROFILE, RATE);
    assert_false(hz3_sample_chooses_to_guard());
    hz3_sample_start(HZ3_SAMPLE_GUARD, INT32_MAX);
    for (int i = 0; i < 1000; i++) assert_false(hz3_sample_chooses_to_guard());
    hz3_sample_start(HZ3_SAMPLE_GUARD, 0);
    hz3_sample_start(HZ3_SAMPLE_PROFILE, 0);
}

static void every_malloc_is_slow_while_it_is_on(void **state)
{
    (void)state;
    static uint8_t before[sizeof hz3_class_table_of_malloc];
    size_t last = sizeof before - 1;
    memcpy(before, hz3_class_table_of_malloc, sizeof before);
    hz3_sample_start(HZ3_SAMPLE_PROFILE, RATE);
    assert_int_equal(hz3_class_table_of_malloc[1], HZ3_CLASS_NONE);
    assert_int_equal(hz3_class_table_of_malloc[last], HZ3_CLASS_NONE);
    hz3_sample_start(HZ3_SAMPLE_PROFILE, 0);
    assert_memory_equal(hz3_class_table_of_malloc, before, sizeof before);
    assert_int_equal(before[last], HZ3_CLASSES);
}

RUN(cmocka_unit_test(sizes_are_chosen_in_proportion), cmocka_unit_test(nothing_is_chosen_while_it_pauses_or_is_off),
    cmocka_unit_test(what_was_counted_while_it_was_off_is_forgotten),
    cmocka_unit_test(every_malloc_is_slow_while_it_is_on))
