/* The bound on dirty memory while hz3 grows is a share of what is in use.  It rises when purged memory is soon
 * taken again, and falls when it is not. */
#include "unit.h"

#include "back/limits.h"
#include "os/os.h"

enum { DECAY_MS = 20 };
static const size_t floor_bytes = HZ3_KIB(512), much = HZ3_MIB(64);
static size_t before; /* what is in use, without what a test adds */

static int begin(void **state)
{
    (void)state;
    hz3_pages_decay = DECAY_MS;
    hz3_set(hz3_pages_dirty_max, HZ3_MIB(256));
    before = hz3_gauge(HZ3_GAUGE_USED);
    return 0;
}

static void use(size_t bytes)
{
    hz3_gauge_add(HZ3_GAUGE_USED, bytes - hz3_gauge(HZ3_GAUGE_USED));
}

static int end(void **state)
{
    (void)state;
    use(before);
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
    assert_true(before < 16 * floor_bytes);
    assert_int_equal(hz3_pages_growth_bound(), floor_bytes);
    use(HZ3_MIB(1600));
    assert_int_equal(hz3_pages_growth_bound(), HZ3_MIB(100));
    hz3_set(hz3_pages_dirty_max, HZ3_MIB(8));
    assert_int_equal(hz3_pages_growth_bound(), HZ3_MIB(8));
}

static void take_again(size_t bytes)
{
    hz3_pages_gave(bytes);
    hz3_pages_retook(bytes);
}

/* To be called with the least bound. */
static void expect_doubling_after(size_t bytes)
{
    hz3_pages_gave(bytes);
    hz3_pages_retook(bytes - 1);
    assert_int_equal(hz3_pages_growth_bound(), floor_bytes);
    hz3_pages_retook(1);
    assert_int_equal(hz3_pages_growth_bound(), 2 * floor_bytes);
}

static void it_doubles_when_as_much_as_is_in_use_is_taken_again_at_once(void **state)
{
    (void)state;
    forget_all();
    use(16 * floor_bytes);
    expect_doubling_after(16 * floor_bytes);
}

static void of_a_large_heap_64_mib_are_much(void **state)
{
    (void)state;
    forget_all();
    use(2 * much);
    size_t bound = hz3_pages_growth_bound();
    take_again(much - 1);
    assert_int_equal(hz3_pages_growth_bound(), bound);
    for (; bound < HZ3_MIB(256); bound *= 2) {
        assert_int_equal(hz3_pages_growth_bound(), bound);
        take_again(much);
    }
    take_again(much);
    assert_int_equal(hz3_pages_growth_bound(), HZ3_MIB(256));
}

static void less_than_the_bound_is_never_much(void **state)
{
    (void)state;
    forget_all();
    use(0);
    expect_doubling_after(floor_bytes);
    take_again(2 * floor_bytes - 1);
    assert_int_equal(hz3_pages_growth_bound(), 2 * floor_bytes);
}

static void pages_that_were_not_given_back_do_not_count(void **state)
{
    (void)state;
    forget_all();
    hz3_pages_gave(floor_bytes - 1);
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
    for (int i = 0; i < 2; i++) take_again(much);
    assert_int_equal(hz3_pages_growth_bound(), 4 * floor_bytes);
    pass_a_decay();
    hz3_pages_gave(much);
    assert_int_equal(hz3_pages_growth_bound(), 2 * floor_bytes);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

RUN(TEST(it_is_a_sixteenth_of_what_is_in_use), TEST(it_doubles_when_as_much_as_is_in_use_is_taken_again_at_once),
    TEST(of_a_large_heap_64_mib_are_much), TEST(less_than_the_bound_is_never_much),
    TEST(pages_that_were_not_given_back_do_not_count), TEST(what_is_taken_again_late_does_not_count),
    TEST(it_halves_when_nothing_is_taken_again))
