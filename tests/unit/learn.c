/* The system's files are read once, at growth, and not after the program gave up its right to open files. */
#include "unit.h"

#include "back/grow.h"
#include "back/learn.h"
#include "back/limits.h"
#include "back/pages.h"
#include "os/cgroup.h"
#include "os/sandbox.h"

#include <errno.h>
#include <sys/resource.h>

enum { UNREAD = 12345 };

static int forget(void **state)
{
    (void)state;
    hz3_learn_start(SIZE_MAX);
    hz3_os.huge_page = UNREAD;
    return 0;
}

static void it_is_read_once(void **state)
{
    (void)state;
    errno = ERANGE;
    hz3_learn();
    assert_int_equal(errno, ERANGE);
    assert_int_not_equal(hz3_os.huge_page, UNREAD);
    hz3_os.huge_page = UNREAD;
    hz3_learn();
    assert_int_equal(hz3_os.huge_page, UNREAD);
}

static void it_is_not_read_behind_a_lock(void **state)
{
    (void)state;
    hz3_set(hz3_sandbox, HZ3_SANDBOX_ALL);
    hz3_learn();
    hz3_pages_free(hz3_pages_alloc(2 * HZ3_LEARN_FROM >> HZ3_GRANULE_SHIFT, 1, HZ3_SPAN_LARGE));
    hz3_set(hz3_sandbox, HZ3_SANDBOX_NONE);
    assert_int_equal(hz3_os.huge_page, UNREAD);
}

static void it_is_read_later_where_no_descriptor_is_left(void **state)
{
    (void)state;
    struct rlimit usual, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none = (struct rlimit){0, usual.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    hz3_learn();
    setrlimit(RLIMIT_NOFILE, &usual);
    assert_int_equal(hz3_os.huge_page, UNREAD);
    hz3_learn();
    assert_int_not_equal(hz3_os.huge_page, UNREAD);
}

static void growth_reads_it(void **state)
{
    (void)state;
    struct hz3_span *span = hz3_pages_alloc(4 * HZ3_LEARN_FROM >> HZ3_GRANULE_SHIFT, 1, HZ3_SPAN_LARGE);
    assert_int_not_equal(hz3_os.huge_page, UNREAD);
    hz3_pages_free(span);
}

/* By one file; the others are left for later. */
static void a_small_process_asks_for_huge_pages(void **state)
{
    (void)state;
    size_t before = hz3_grown;
    hz3_grown = HZ3_LEARN_HUGE_PAGES_FROM - 1;
    assert_true(hz3_grow(1));
    hz3_grown += before;
    assert_int_equal(hz3_os.huge_page != UNREAD, hz3_os_makes_huge_pages());
    hz3_os.huge_page = UNREAD;
    hz3_learn();
    assert_int_not_equal(hz3_os.huge_page, UNREAD);
}

static void an_option_comes_before_the_groups_limit(void **state)
{
    (void)state;
    hz3_learn_start(0);
    hz3_learn();
    assert_int_equal(hz3_pages_soft_limit, SIZE_MAX);
    hz3_set(hz3_pages_charged_to_others, HZ3_MIB(100)); /* of a group's limit that counted before */
    hz3_learn_start(HZ3_MIB(7));
    hz3_learn();
    assert_int_equal(hz3_pages_charged_to_others, 0);
    assert_int_equal(hz3_pages_soft_limit, HZ3_MIB(7));
}

static size_t group_limit = SIZE_MAX, group_charge = HZ3_CGROUP_UNKNOWN;
static unsigned charge_reads, charge_ms; /* charge_ms: how long each takes */

size_t __wrap_hz3_cgroup_limit(const char *membership, const char *root);
size_t __wrap_hz3_cgroup_limit(const char *membership, const char *root)
{
    (void)membership, (void)root;
    return group_limit;
}

size_t __wrap_hz3_cgroup_charged(void);
size_t __wrap_hz3_cgroup_charged(void)
{
    charge_reads++;
    if (charge_ms) hz3_os_sleep(charge_ms);
    return group_charge;
}

/* Though no file can be read any more. */
static void an_option_that_is_taken_back_leaves_the_groups_limit(void **state)
{
    (void)state;
    group_limit = HZ3_MIB(1000);
    group_charge = HZ3_MIB(5000);
    hz3_learn();
    size_t limit = hz3_pages_soft_limit, charged = hz3_pages_charged_to_others;
    assert_in_range(limit, HZ3_MIB(899), HZ3_MIB(900));
    assert_in_range(charged, 1, HZ3_MIB(5000));
    hz3_set(hz3_sandbox, HZ3_SANDBOX_ALL);
    hz3_learn_start(HZ3_MIB(7));
    hz3_learn_now();
    hz3_learn_start(SIZE_MAX);
    hz3_learn_now();
    hz3_set(hz3_sandbox, HZ3_SANDBOX_NONE);
    assert_int_equal(hz3_pages_soft_limit, limit);
    assert_int_equal(hz3_pages_charged_to_others, charged);
    group_limit = SIZE_MAX;
    hz3_learn_now();
    assert_int_equal(hz3_pages_soft_limit, SIZE_MAX);
}

static unsigned reads_in_20_s(uint32_t *now)
{
    charge_reads = 0;
    for (int i = 0; i < 20; i++) hz3_learn_again(*now += 1000);
    return charge_reads;
}

static void a_charge_that_is_slow_to_read_is_read_less_often(void **state)
{
    (void)state;
    uint32_t now = (uint32_t)hz3_os_now_ms();
    group_limit = HZ3_MIB(1000);
    group_charge = HZ3_MIB(500);
    hz3_learn();
    assert_int_equal(reads_in_20_s(&now), 20);
    charge_ms = 50;
    assert_in_range(reads_in_20_s(&now), 2, 6); /* twice, then each 6 s or later */
    charge_ms = 1000;
    reads_in_20_s(&now);
    assert_in_range(reads_in_20_s(&now), 1, 2); /* each 10 s, however long it takes */
    charge_ms = 0;
    reads_in_20_s(&now);
    assert_int_equal(reads_in_20_s(&now), 20);
    group_limit = SIZE_MAX;
    hz3_learn_now();
}

static void what_a_group_does_not_say_for_now_is_read_later(void **state)
{
    (void)state;
    size_t limit = hz3_pages_soft_limit;
    group_limit = HZ3_CGROUP_UNKNOWN;
    hz3_learn();
    assert_int_equal(hz3_os.huge_page, UNREAD);
    assert_int_equal(hz3_pages_soft_limit, limit);
    group_limit = HZ3_MIB(2000);
    group_charge = HZ3_MIB(5000);
    hz3_learn();
    size_t charged = hz3_pages_charged_to_others;
    assert_in_range(hz3_pages_soft_limit, HZ3_MIB(1799), HZ3_MIB(1800));
    group_charge = HZ3_CGROUP_UNKNOWN;
    charge_reads = 0;
    hz3_learn_again((uint32_t)hz3_os_now_ms() + 1200000);
    assert_int_equal(charge_reads, 1);
    assert_int_equal(hz3_pages_charged_to_others, charged);
    group_limit = SIZE_MAX;
    hz3_learn_start(SIZE_MAX);
    hz3_learn_now();
}

RUN(cmocka_unit_test_setup(it_is_read_once, forget), cmocka_unit_test_setup(it_is_not_read_behind_a_lock, forget),
    cmocka_unit_test_setup(it_is_read_later_where_no_descriptor_is_left, forget),
    cmocka_unit_test_setup(growth_reads_it, forget),
    cmocka_unit_test_setup(a_small_process_asks_for_huge_pages, forget),
    cmocka_unit_test_setup(an_option_comes_before_the_groups_limit, forget),
    cmocka_unit_test_setup(an_option_that_is_taken_back_leaves_the_groups_limit, forget),
    cmocka_unit_test_setup(a_charge_that_is_slow_to_read_is_read_less_often, forget),
    cmocka_unit_test_setup(what_a_group_does_not_say_for_now_is_read_later, forget))
