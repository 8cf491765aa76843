/* When a pass is due. */
#include "unit.h"

#include "front/collector.h"
#include "os/os.h"

enum { DAY = 24 * 3600 * 1000 };

static void nothing_is_due_at_once(void **state)
{
    (void)state;
    static const uint32_t decays[] = {1000, 3600 * 1000, DAY, 7 * DAY, INT32_MAX};
    for (unsigned i = 0; i < sizeof decays / sizeof *decays; i++) {
        hz3_collector_start(decays[i], false);
        uint32_t epoch = hz3_collector_tick();
        for (int tick = 0; tick < 100; tick++) assert_int_equal(hz3_collector_tick(), epoch);
    }
}

static void a_pass_comes_in_time(void **state)
{
    (void)state;
    hz3_collector_start(40, false);
    uint32_t epoch = hz3_collector_tick();
    HZ3_ATOMIC(uint32_t) never = 0;
    for (int i = 0; i < 100 && hz3_collector_tick() == epoch; i++) hz3_os_wait(&never, 0, 10);
    assert_int_not_equal(hz3_collector_tick(), epoch);
}

RUN(cmocka_unit_test(nothing_is_due_at_once), cmocka_unit_test(a_pass_comes_in_time))
