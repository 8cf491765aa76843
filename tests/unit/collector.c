/* When a pass is due. */
#include "unit.h"

#include "back/pages.h"
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

/* Above the soft limit what is freed goes at once; what is in use, touched or not, keeps nobody busy. */
static void only_what_waits_presses(void **state)
{
    (void)state;
    enum { GRANULES = 1024 };
    size_t limit = hz3_pages_soft_limit;
    struct hz3_span *used = hz3_pages_alloc(GRANULES, 1, HZ3_SPAN_LARGE),
                    *freed = hz3_pages_alloc(64, 1, HZ3_SPAN_LARGE);
    assert_non_null(used);
    assert_non_null(freed);
    hz3_collector_run(true);
    hz3_pages_soft_limit = GRANULES / 2 * HZ3_GRANULE;
    assert_true(hz3_pages_resident() > hz3_pages_soft_limit);
    assert_false(hz3_pages_pressed());
    memset((void *)freed->start, 1, 64 * HZ3_GRANULE);
    hz3_pages_free(freed);
    assert_int_equal(hz3_get(hz3_pages_stats.dirty), 0);
    assert_false(hz3_pages_pressed());
    hz3_pages_free(used);
    hz3_pages_soft_limit = limit;
}

RUN(cmocka_unit_test(nothing_is_due_at_once), cmocka_unit_test(a_pass_comes_in_time),
    cmocka_unit_test(only_what_waits_presses))
