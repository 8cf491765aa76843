/* The bound on free memory while hz3 grows is a share of what is in use, and more where giving back cost more than the
 * share of the processor time that it may. */
#include "unit.h"

#include "back/limits.h"
#include "back/rent.h"
#include "os/os.h"
#include "os/price.h"

#include <time.h>
#include <unistd.h>

static const size_t floor_bytes = HZ3_KIB(512), all = SIZE_MAX;
static const size_t earned = HZ3_MIB(1); /* more than a test earns */
static size_t before;                    /* what is in use, without what a test adds */

static void owe(enum hz3_rent reason, size_t bytes)
{
    hz3_rent_charge(reason, (size_t)hz3_max(hz3_rent_left(reason), (int64_t)0));
    hz3_rent_forgive(reason);
    hz3_rent_charge(reason, bytes);
}

static int begin(void **state)
{
    (void)state;
    hz3_set(hz3_pages_dirty_max, HZ3_MIB(256));
    hz3_pages_retain_learns = false;
    before = hz3_gauge(HZ3_GAUGE_USED);
    for (int i = 0; i < HZ3_RENTS; i++) owe(i, 0);
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

static void expect_about(size_t found, size_t expected)
{
    assert_true(found <= expected && found + earned >= expected);
}

static void it_is_a_sixteenth_of_what_is_in_use(void **state)
{
    (void)state;
    assert_true(before < 16 * floor_bytes);
    assert_int_equal(hz3_pages_growth_bound(0), floor_bytes);
    use(HZ3_MIB(1600));
    assert_int_equal(hz3_pages_growth_bound(0), HZ3_MIB(100));
    hz3_set(hz3_pages_dirty_max, HZ3_MIB(8));
    assert_int_equal(hz3_pages_growth_bound(0), HZ3_MIB(8));
}

static void more_may_stay_where_too_much_is_owed(void **state)
{
    (void)state;
    use(HZ3_MIB(64));
    owe(HZ3_RENT_GROWTH, HZ3_MIB(16));
    expect_about(hz3_pages_growth_bound(all), HZ3_MIB(4 + 4)); /* a quarter of a quarter of what is in use */
    owe(HZ3_RENT_GROWTH, HZ3_MIB(64));
    expect_about(hz3_pages_growth_bound(all), HZ3_MIB(4 + 64));
    use(HZ3_MIB(1600));
    expect_about(hz3_pages_growth_bound(all), HZ3_MIB(100 + 64));
    owe(HZ3_RENT_GROWTH, HZ3_MIB(1024));
    assert_int_equal(hz3_pages_growth_bound(all), HZ3_MIB(256));
    assert_int_equal(hz3_pages_growth_bound(HZ3_MIB(100)), HZ3_MIB(100)); /* with so little free nobody asks */
    owe(HZ3_RENT_AT_ONCE, HZ3_MIB(1024));
    owe(HZ3_RENT_GROWTH, 0);
    expect_about(hz3_pages_growth_bound(all), HZ3_MIB(100));
}

static void what_the_user_allows_is_not_exceeded(void **state)
{
    (void)state;
    use(HZ3_MIB(64));
    owe(HZ3_RENT_GROWTH, HZ3_MIB(64));
    assert_int_equal(hz3_pages_retained(all), HZ3_MIB(256));
    hz3_pages_retain_learns = true;
    expect_about(hz3_pages_retained(all), HZ3_MIB(256 + 64));
    assert_int_equal(hz3_pages_retained(HZ3_MIB(256)), HZ3_MIB(256));
}

static void only_pages_that_went_back_are_charged_for(void **state)
{
    (void)state;
    hz3_rent_refaulted(HZ3_MIB(64));
    assert_true(hz3_rent_left(HZ3_RENT_GROWTH) >= 0);
    hz3_rent_purged(HZ3_MIB(32));
    assert_true(hz3_rent_left(HZ3_RENT_GROWTH) >= 0);
    hz3_rent_refaulted(HZ3_MIB(24));
    expect_about((size_t)-hz3_rent_left(HZ3_RENT_GROWTH), HZ3_MIB(24));
    hz3_rent_refaulted(HZ3_MIB(64));
    expect_about((size_t)-hz3_rent_left(HZ3_RENT_GROWTH), HZ3_MIB(32));
    hz3_rent_forgive(HZ3_RENT_GROWTH);
    assert_true(hz3_rent_left(HZ3_RENT_GROWTH) >= 0);
}

/* Until it has used the processor for as long as that is a share of. */
static void a_process_begins_as_if_it_had_paid(void **state)
{
    (void)state;
    int64_t left = hz3_rent_left(HZ3_RENT_GROWTH);
    assert_true(left < 0 && left >= -(int64_t)HZ3_MIB(8));
    assert_true(hz3_rent_left(HZ3_RENT_AT_ONCE) >= 0);
}

static uint64_t used_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static void expect_earned(unsigned percent)
{
    enum { BURNT_MS = 200, LOOK_MS = 10 };
    int64_t left[HZ3_RENTS];
    hz3_set(hz3_rent_share, percent);
    uint64_t start = used_ns();
    for (int i = 0; i < HZ3_RENTS; i++) left[i] = hz3_rent_left(i);
    while (used_ns() - start < (BURNT_MS + LOOK_MS) * 1000000ull) continue;
    int64_t most = (int64_t)((used_ns() - start) * percent / 100 / hz3_os_page_price() * hz3_os.page);
    int64_t least = (int64_t)(BURNT_MS * 10000ull * percent / hz3_os_page_price() * hz3_os.page);
    for (int i = 0; i < HZ3_RENTS; i++) {
        int64_t got = hz3_rent_left(i) - left[i];
        assert_true(got >= least && got <= most + least / 10);
    }
}

static void a_share_of_the_processor_time_is_earned(void **state)
{
    (void)state;
    expect_earned(1);
    expect_earned(2);
    hz3_set(hz3_rent_share, 1);
}

static void little_is_saved(void **state)
{
    (void)state;
    int64_t a_second = (int64_t)(10000000ull / hz3_os_page_price() * hz3_os.page);
    hz3_rent_charge(HZ3_RENT_GROWTH, (size_t)-(10 * a_second));
    usleep(10000);
    uint64_t start = used_ns();
    while (used_ns() - start < 10000000) continue;
    assert_true(hz3_rent_left(HZ3_RENT_GROWTH) <= a_second);
}

static unsigned times_asked, asking_ms;
uint64_t __real_hz3_os_used_ns(void);
uint64_t __wrap_hz3_os_used_ns(void);
uint64_t __wrap_hz3_os_used_ns(void)
{
    times_asked++;
    if (asking_ms) hz3_os_sleep(asking_ms);
    return __real_hz3_os_used_ns();
}

/* Where there are thousands of threads, which the system adds up. */
static void time_that_is_dear_is_seldom_asked_for(void **state)
{
    (void)state;
    times_asked = 0;
    asking_ms = 5;
    for (uint64_t end = hz3_os_now_ms() + 300; hz3_os_now_ms() < end;) hz3_rent_left(HZ3_RENT_GROWTH);
    assert_in_range(times_asked, 1, 8); /* twice, then each 100 ms: without that 30 times */
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

RUN(cmocka_unit_test(a_process_begins_as_if_it_had_paid), TEST(it_is_a_sixteenth_of_what_is_in_use),
    TEST(more_may_stay_where_too_much_is_owed), TEST(what_the_user_allows_is_not_exceeded),
    TEST(only_pages_that_went_back_are_charged_for), TEST(a_share_of_the_processor_time_is_earned),
    TEST(little_is_saved), TEST(time_that_is_dear_is_seldom_asked_for))
