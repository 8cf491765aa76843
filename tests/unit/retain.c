/* Free memory is bounded at once or, while the background thread attends to it, only at growth. */
#include "unit.h"

#include "api/options.h"
#include "back/gauges.h"
#include "back/limits.h"
#include "back/pages.h"
#include "back/purge.h"
#include "back/rent.h"

#include "support.h"

enum { MANY = 2000 }; /* more granules than are free in one place */

/* Sets the bound on free memory to 4 MiB, and whether it is elastic and attended. */
static void bound(bool elastic, bool attended)
{
    hz3_set(hz3_pages_dirty_max, HZ3_MIB(4));
    hz3_pages_retain_learns = hz3_pages_adaptive = elastic;
    hz3_rent_forgive(HZ3_RENT_GROWTH);
    hz3_set(hz3_pages_purger_runs, attended);
    hz3_pages_purge(0, 0, true);
}

static void unbound(void)
{
    bound(false, false);
    hz3_set(hz3_pages_dirty_max, HZ3_MIB(256));
}

/* Frees every other of `count` spans of 1 MiB. */
static void make_holes(struct hz3_span **spans, int count)
{
    for (int i = 0; i < count; i++) assert_non_null(spans[i] = hz3_pages_alloc(16, 1, HZ3_SPAN_LARGE));
    for (int i = 0; i < count; i += 2) hz3_pages_free(spans[i]);
}

static void free_others(struct hz3_span **spans, int count)
{
    for (int i = 1; i < count; i += 2) hz3_pages_free(spans[i]);
    unbound();
}

enum { SPANS = 64 };

static void what_is_free_is_bounded_at_once(void **state)
{
    (void)state;
    struct hz3_span *spans[SPANS];
    size_t limit = hz3_pages_soft_limit;
    for (int i = 0; i < 3; i++) { /* not attended; not elastic, as the user set it; near the soft limit */
        bound(i != 1, i != 0);
        if (i == 2) hz3_pages_soft_limit = hz3_gauge(HZ3_GAUGE_USED) + SPANS * HZ3_MIB(1) + HZ3_MIB(4);
        make_holes(spans, SPANS);
        assert_true(hz3_gauge(HZ3_GAUGE_DIRTY) <= HZ3_MIB(4));
        hz3_pages_soft_limit = limit;
        free_others(spans, SPANS);
    }
}

static void attended_it_is_bounded_where_the_heap_grows(void **state)
{
    (void)state;
    struct hz3_span *spans[SPANS];
    bound(true, true);
    make_holes(spans, SPANS);
    size_t dirty = hz3_gauge(HZ3_GAUGE_DIRTY);
    assert_true(dirty >= SPANS / 2 * HZ3_MIB(1));
    struct hz3_span *fits = hz3_pages_alloc(16, 1, HZ3_SPAN_LARGE);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_DIRTY), dirty - HZ3_MIB(1));
    struct hz3_span *grown = hz3_pages_alloc(48, 1, HZ3_SPAN_LARGE);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_DIRTY), dirty - HZ3_MIB(4));
    size_t used = hz3_gauge(HZ3_GAUGE_USED);
    struct hz3_span *much = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_USED), used + hz3_span_bytes(much));
    assert_true(hz3_gauge(HZ3_GAUGE_DIRTY) <= HZ3_MIB(4));
    hz3_pages_free(much);
    hz3_pages_free(grown);
    hz3_pages_free(fits);
    free_others(spans, SPANS);
}

/* A small growth, in place here, does not have to wait until a long span is purged whole. */
static void no_more_of_a_long_span_goes_than_has_to(void **state)
{
    (void)state;
    bound(true, true);
    struct hz3_span *long_one = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE);
    struct hz3_span *span = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE);
    hz3_pages_shrink(span, 16);
    hz3_pages_purge(0, 0, true); /* so that the memory behind it is clean */
    hz3_pages_free(long_one);
    size_t dirty = hz3_gauge(HZ3_GAUGE_DIRTY);
    size_t purged = hz3_gauge(HZ3_GAUGE_PURGED);
    assert_true(hz3_pages_grow(span, 17, false));
    assert_true(hz3_gauge(HZ3_GAUGE_DIRTY) < dirty);
    assert_true(hz3_gauge(HZ3_GAUGE_DIRTY) >= dirty - HZ3_MIB(4));
    assert_in_range(hz3_gauge(HZ3_GAUGE_PURGED) - purged, HZ3_MIB(1), HZ3_MIB(4));
    hz3_pages_free(span);
    unbound();
}

static void free_much(void *unused)
{
    (void)unused;
    hz3_pages_free(hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE));
    CHECK(hz3_gauge(HZ3_GAUGE_DIRTY) <= HZ3_MIB(4));
}

/* A child does not wait for the background thread, which it does not have. */
static void a_child_frees_at_once(void **state)
{
    (void)state;
    bound(true, true);
    expect_success(in_child(free_much, NULL), 10);
    unbound();
}

static void keep_again(void *unused)
{
    (void)unused;
    CHECK(!hz3_get(hz3_pages_are_locked) && hz3_get(hz3_pages_dirty_max) == hz3_options.RETAIN);
}

/* Has to be the last test, since it leaves memory locked.  A child has none. */
static void locked_memory_does_not_wait(void **state)
{
    (void)state;
    bound(true, true);
    hz3_pages_locked();
    hz3_pages_free(hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE));
    assert_true(hz3_gauge(HZ3_GAUGE_DIRTY) <= HZ3_MIB(1));
    expect_success(in_child(keep_again, NULL), 10);
    unbound();
}

RUN(cmocka_unit_test(what_is_free_is_bounded_at_once), cmocka_unit_test(attended_it_is_bounded_where_the_heap_grows),
    cmocka_unit_test(no_more_of_a_long_span_goes_than_has_to), cmocka_unit_test(a_child_frees_at_once),
    cmocka_unit_test(locked_memory_does_not_wait))
