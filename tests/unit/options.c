/* Options: units are understood, bad values leave the default. */
#include "unit.h"

#include "api/options.h"

#include <stdlib.h>

/* A default that lane memory changes. */
#define USUAL(usual, in_lane_memory) (HZ3_SMALL_MEMORY ? (size_t)(in_lane_memory) : (size_t)(usual))

static void units_are_understood(void **state)
{
    (void)state;
    setenv("HZ3_RETAIN", "3k", 1);
    setenv("HZ3_DECAY", "2s", 1);
    setenv("HZ3_THP", "never", 1);
    setenv("HZ3_HEAPS", "12", 1);
    setenv("HZ3_SOFT_LIMIT", "1G", 1);
    assert_true(hz3_options_load());
    assert_int_equal(hz3_options.RETAIN, 3 * 1024);
    assert_int_equal(hz3_options.DECAY, 2000);
    assert_int_equal(hz3_options.THP, HZ3_THP_NEVER);
    assert_int_equal(hz3_options.HEAPS, 12);
    assert_int_equal(hz3_options.SOFT_LIMIT, (size_t)1 << 30);
    setenv("HZ3_DECAY", "250ms", 1);
    setenv("HZ3_SOFT_LIMIT", "0", 1);
    hz3_options_load();
    assert_int_equal(hz3_options.DECAY, 250);
    assert_int_equal(hz3_options.SOFT_LIMIT, 0);
}

static void bad_values_leave_the_default(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "x", "-1", "1.5", "1KB", "1ms2", "99999999999999999999999", "4T", " 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("HZ3_RETAIN", bad[i], 1);
        setenv("HZ3_DECAY", bad[i], 1);
        setenv("HZ3_BACKGROUND", bad[i], 1);
        hz3_options_load();
        assert_int_equal(hz3_options.RETAIN, USUAL(HZ3_MIB(256), HZ3_MIB(16)));
        assert_true(hz3_options.retain_learns); /* as where the user gave none */
        assert_int_equal(hz3_options.DECAY, USUAL(1000, 100));
        assert_int_equal(hz3_options.BACKGROUND, 1);
    }
}

static void a_share_is_a_percentage(void **state)
{
    (void)state;
    static const char *const bad[] = {"0", "101", "1.5", "%", "5 %", "-1", ""};
    setenv("HZ3_RETAIN_SHARE", "25%", 1);
    hz3_options_load();
    assert_int_equal(hz3_options.RETAIN_SHARE, 25);
    setenv("HZ3_RETAIN_SHARE", "100", 1);
    hz3_options_load();
    assert_int_equal(hz3_options.RETAIN_SHARE, 100);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("HZ3_RETAIN_SHARE", bad[i], 1);
        hz3_options_load();
        assert_int_equal(hz3_options.RETAIN_SHARE, 1);
    }
}

static void sizes_have_three_units_and_no_auto(void **state)
{
    (void)state;
    static const char *const bad[] = {"16 ", "16 K", "16T", "auto"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("HZ3_THREAD_CACHE", bad[i], 1);
        setenv("HZ3_CACHE_TOTAL", bad[i], 1);
        setenv("HZ3_TRANSFER_CACHE", bad[i], 1);
        setenv("HZ3_WINDOW", bad[i], 1);
        hz3_options_load();
        assert_int_equal(hz3_options.THREAD_CACHE, USUAL(HZ3_MIB(16), HZ3_KIB(512)));
        assert_int_equal(hz3_options.CACHE_TOTAL, USUAL(HZ3_MIB(256), HZ3_MIB(16)));
        assert_int_equal(hz3_options.TRANSFER_CACHE, USUAL(HZ3_MIB(16), HZ3_KIB(64)));
        assert_int_equal(hz3_options.WINDOW, (size_t)1024 << 30);
    }
}

static void a_bound_that_was_given_is_one(void **state)
{
    (void)state;
    setenv("HZ3_RETAIN", "256M", 1);
    hz3_options_load();
    assert_false(hz3_options.retain_auto);
    assert_false(hz3_options.retain_learns);
    setenv("HZ3_RETAIN", "auto", 1);
    hz3_options_load();
    assert_true(hz3_options.retain_auto);
    assert_int_equal(hz3_options.RETAIN, HZ3_MIB(256));
}

RUN(cmocka_unit_test(units_are_understood), cmocka_unit_test(bad_values_leave_the_default),
    cmocka_unit_test(a_share_is_a_percentage), cmocka_unit_test(sizes_have_three_units_and_no_auto),
    cmocka_unit_test(a_bound_that_was_given_is_one))
