/* The bound on dirty memory while hz3 grows is a share of what is in use.  It rises when purged memory is soon
 * taken again, and falls when it is not. */
#include "unit.h"

#include "back/limits.h"
#include "os/os.h"

enum { DECAY_MS = 20 };
static const size_t floor_bytes = HZ3_KIB(512), much = HZ3_MIB(64);

static int begin(void **state)
{
    (void)state;
    hz3_pages_decay = DECAY_MS;
    hz3_set(hz3_pages_dirty_max, HZ3_MIB(256));
    return 0;
}

static void pass_a_decay(void)
{
    HZ3_ATOMIC(uint32_t) never = 0;
    hz3_os_wait(&never, 0, 2 * DECAY_MS);
}

static void forget_all(void)
{
    for (int i = 0; i < 10; i++) {
        pass_a_decay();
        hz3_pages_gave(0);
    }
    assert_int_equal(hz3_pages_growth_bound(), floor_bytes);
}

static void it_is_a_sixteenth_of_what_is_in_use(void **state)
{
    (void)state;
    size_t before = hz3_gauge(HZ3_GAUGE_USED);
    assert_true(before < 16 * floor_bytes);
    assert_int_equal(hz3_pages_growth_bound(), floor_bytes);
    hz3_gauge_add(HZ3_GAUGE_USED, HZ3_MIB(1600) - before);
    assert_int_equal(hz3_pages_growth_bound(), HZ3_MIB(100));
    hz3_set(hz3_pages_dirty_max, HZ3_MIB(8));
    assert_int_equal(hz3_pages_growth_bound(), HZ3_MIB(8));
    hz3_gauge_add(HZ3_GAUGE_USED, before - HZ3_MIB(1600));
}

static void it_doubles_when_much_is_taken_again_at_once(void **state)
{
    (void)state;
    forget_all();
    hz3_pages_gave(much);
    hz3_pages_retook(much - 1);
    assert_int_equal(hz3_pages_growth_bound(), floor_bytes);
    hz3_pages_retook(1);
    assert_int_equal(hz3_pages_growth_bound(), 2 * floor_bytes);
    for (size_t bound = 2 * floor_bytes; bound < HZ3_MIB(256); bound *= 2) {
        assert_int_equal(hz3_pages_growth_bound(), bound);
        hz3_pages_gave(much);
        hz3_pages_retook(much);
    }
    hz3_pages_gave(much);
    hz3_pages_retook(much);
    assert_int_equal(hz3_pages_growth_bound(), HZ3_MIB(256));
}

static void pages_that_were_not_given_back_do_not_count(void **state)
{
    (void)state;
    forget_all();
    hz3_pages_gave(much - 1);
    hz3_pages_retook(16 * much);
    assert_int_equal(hz3_pages_growth_bound(), floor_bytes);
}

static void what_is_taken_again_late_does_not_count(void **state)
{
    (void)state;
    forget_all();
    hz3_pages_gave(much);
    pass_a_decay();
    hz3_pages_gave(0);
    hz3_pages_retook(much);
    assert_int_equal(hz3_pages_growth_bound(), floor_bytes);
}

static void it_halves_when_nothing_is_taken_again(void **state)
{
    (void)state;
    forget_all();
    for (int i = 0; i < 2; i++) {
        hz3_pages_gave(much);
        hz3_pages_retook(much);
    }
    assert_int_equal(hz3_pages_growth_bound(), 4 * floor_bytes);
    pass_a_decay();
    hz3_pages_gave(much);
    assert_int_equal(hz3_pages_growth_bound(), 2 * floor_bytes);
}

RUN(cmocka_unit_test_setup(it_is_a_sixteenth_of_what_is_in_use, begin),
    cmocka_unit_test_setup(it_doubles_when_much_is_taken_again_at_once, begin),
    cmocka_unit_test_setup(pages_that_were_not_given_back_do_not_count, begin),
    cmocka_unit_test_setup(what_is_taken_again_late_does_not_count, begin),
    cmocka_unit_test_setup(it_halves_when_nothing_is_taken_again, begin))
