/* Large clean spans that nobody took for a while are unmapped, and mapped again as they are taken. */
#include "unit.h"

#include "back/gauges.h"
#include "back/fork_reserve.h"
#include "back/grow.h"
#include "back/holes.h"
#include "back/large_cache.h"
#include "back/pages.h"
#include "back/purge.h"
#include "os/os.h"

#include "pool.h"

enum { MANY = 2000, AGE = 60, MINUTE = 60000 }; /* granules; ms */

static bool no_unmaps;
static size_t allowed; /* munmaps, all the same */
static size_t unmaps;  /* that were refused */

int munmap(void *at, size_t bytes)
{
    if (!no_unmaps || (allowed && allowed--)) return (int)syscall(SYS_munmap, at, bytes);
    unmaps++;
    errno = ENOMEM;
    return -1;
}

static bool is_mapped(uintptr_t page)
{
    return msync((void *)page, hz3_os.page, MS_ASYNC) == 0;
}

/* A span of so many granules that was written to, with one in use behind it. */
static struct hz3_span *written_span(size_t granules)
{
    struct hz3_span *span = hz3_pages_alloc(granules, 1, HZ3_SPAN_LARGE);
    memset((void *)span->start, 1, hz3_span_bytes(span));
    hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE);
    return span;
}

static int set_up(void **state)
{
    if (hz3_windows[0].reserved) return 0;
    hz3_os.counts_mapped = false;
    hz3_os.huge_page = 0;
    /* So that what follows comes from fresh memory, and is alone. */
    while (hz3_gauge(HZ3_GAUGE_CLEAN) + hz3_gauge(HZ3_GAUGE_DIRTY) + hz3_gauge(HZ3_GAUGE_UNMAPPED))
        if (!hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE)) return -1;
    (void)state;
    return 0;
}

/* Else a program that forks again and again, and whose threads need the reserve meanwhile, would take ever more
 * addresses. */
static void a_fork_reserve_is_made_of_the_last_one(void **state)
{
    (void)state;
    enum { ROUNDS = 5, MOST = 2000 };
    if (hz3_windows[0].reserved) skip();
    size_t grown = 0;
    for (int round = 0; round < ROUNDS; round++) {
        static void *blocks[MOST];
        size_t count = 0;
        hz3_fork_reserve_fill();
        for (size_t half = hz3_fork_reserve_bytes() / 2; hz3_fork_reserve_bytes() >= half; count++)
            assert_non_null(blocks[count] = hz3_fork_reserve_take(HZ3_GRANULE, 1));
        while (count) hz3_fork_reserve_put(blocks[--count]);
        hz3_fork_reserve_settle();
        hz3_large_cache_trim(0, true);
        hz3_pages_purge(0, 0, true);
        hz3_holes_make(0);
        if (round == 1) grown = hz3_grown;
    }
    assert_int_equal(hz3_grown, grown);
    hz3_fork_reserve_empty();
}

static void what_is_large_and_idle_is_unmapped(void **state)
{
    (void)state;
    if (hz3_windows[0].reserved) skip();
    struct hz3_span *two[] = {written_span(MANY), written_span(8)};
    uintptr_t large = two[0]->start, small = two[1]->start;
    size_t all = all_bytes();
    for (int i = 0; i < 2; i++) hz3_pages_discard(two[i], 0, true);
    hz3_pages_purge(MINUTE, 0, true);
    assert_true(is_mapped(large)); /* it may be taken again soon */
    usleep(2 * AGE * 1000);
    hz3_pages_purge(AGE, 0, true);
    assert_false(is_mapped(large));
    assert_true(is_mapped(small));
    assert_int_equal(all_bytes(), all);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_UNMAPPED), (size_t)MANY << HZ3_GRANULE_SHIFT);
}

/* A call maps more than one request needs, and not all. */
static void a_hole_is_mapped_again_in_steps(void **state)
{
    (void)state;
    if (hz3_windows[0].reserved) skip();
    hz3_pages_discard(written_span(MANY), 0, true);
    hz3_holes_make(0);
    size_t before = hz3_gauge(HZ3_GAUGE_UNMAPPED), calls = 0;
    for (int i = 0; i < MANY; i++) {
        size_t unmapped = hz3_gauge(HZ3_GAUGE_UNMAPPED);
        struct hz3_span *span = hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE);
        assert_true(span->zeroed && *(const unsigned char *)span->start == 0);
        calls += hz3_gauge(HZ3_GAUGE_UNMAPPED) < unmapped;
        if (i == 0) assert_true(hz3_gauge(HZ3_GAUGE_UNMAPPED) > before / 2);
    }
    assert_in_range(calls, 2, MANY / 4);
}

/* The system bounds the number of mappings. */
static void there_are_few_holes(void **state)
{
    (void)state;
    if (hz3_windows[0].reserved) skip();
    static struct hz3_span *apart[6000];
    enum { N = sizeof apart / sizeof *apart };
    for (int i = 0; i < N; i++) {
        apart[i] = hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE);
        hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE);
    }
    for (int i = 0; i < N; i++) hz3_pages_discard(apart[i], 2 * AGE, true);
    hz3_pages_purge(AGE, 0, true);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_UNMAPPED), 0);
    hz3_holes_make(0);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_UNMAPPED) >> HZ3_GRANULE_SHIFT, N);
    hz3_pages_alloc(20000, 1, HZ3_SPAN_LARGE); /* of a larger heap such small ones are not worth a mapping */
    while (hz3_gauge(HZ3_GAUGE_UNMAPPED)) hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE);
    for (int i = 1; i < N; i += 2) {
        apart[i] = hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE);
        hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE);
    }
    for (int i = 1; i < N; i += 2) hz3_pages_discard(apart[i], 2 * AGE, true);
    hz3_holes_make(0);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_UNMAPPED), 0);
}

static void a_system_without_room_for_mappings_is_asked_once(void **state)
{
    (void)state;
    if (hz3_windows[0].reserved) skip();
    struct hz3_span *span = written_span(MANY);
    uintptr_t large = span->start;
    hz3_pages_discard(span, 0, true);
    no_unmaps = true;
    hz3_holes_make(0);
    no_unmaps = false;
    assert_true(is_mapped(large));
    assert_int_equal(unmaps, 1);
}

/* A program needs mappings of its own. */
static void a_system_without_room_for_mappings_gets_some_back(void **state)
{
    (void)state;
    if (hz3_windows[0].reserved) skip();
    enum { HOLES = 200, GRANTED = 100, SPARED = 64, EACH = 32 << HZ3_GRANULE_SHIFT };
    struct hz3_span *apart[HOLES];
    for (int i = 0; i < HOLES; i++) apart[i] = written_span(EACH >> HZ3_GRANULE_SHIFT);
    for (int i = 0; i < HOLES; i++) hz3_pages_discard(apart[i], 0, true);
    no_unmaps = true;
    allowed = GRANTED;
    hz3_holes_make(0);
    no_unmaps = false;
    assert_int_equal(allowed, 0);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_UNMAPPED) / EACH, GRANTED - SPARED);
}

RUN(cmocka_unit_test_setup(what_is_large_and_idle_is_unmapped, set_up),
    cmocka_unit_test_setup(a_hole_is_mapped_again_in_steps, set_up),
    cmocka_unit_test_setup(there_are_few_holes, set_up),
    cmocka_unit_test_setup(a_fork_reserve_is_made_of_the_last_one, set_up),
    cmocka_unit_test_setup(a_system_without_room_for_mappings_is_asked_once, set_up),
    cmocka_unit_test_setup(a_system_without_room_for_mappings_gets_some_back, set_up))
