/* Times that wrap. */
#include "unit.h"

#include "os/os.h"

enum { DAY = 24 * 3600 * 1000 };

static void time_passes_over_the_wrap(void **state)
{
    (void)state;
    for (uint32_t then = UINT32_MAX - 10; then != 10; then++) {
        assert_true(hz3_ms_passed(then, 0, then));
        assert_false(hz3_ms_passed(then, 1, then));
        assert_true(hz3_ms_passed(then, 1000, then + 1000));
        assert_false(hz3_ms_passed(then, 1000, then + 999));
        assert_true(hz3_ms_passed(then, 1000, then + 30u * DAY));
        assert_true(hz3_ms_passed(then, 1000, then + 49u * DAY));
    }
}

static void what_is_to_come_has_not_passed(void **state)
{
    (void)state;
    for (uint32_t now = UINT32_MAX - 10; now != 10; now++) {
        assert_false(hz3_ms_passed(now + 1, 0, now));
        assert_false(hz3_ms_passed(now + 250, 0, now));
    }
}

RUN(cmocka_unit_test(time_passes_over_the_wrap), cmocka_unit_test(what_is_to_come_has_not_passed))
