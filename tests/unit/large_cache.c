/* The large cache: a freed block serves the next request of about its size, and no other.  Blocks that are too old or
 * too many are purged. */
#include "unit.h"

#include "back/gauges.h"
#include "back/large.h"
#include "back/limits.h"
#include "back/large_cache.h"
#include "back/purge.h"

#include <pthread.h>

#define LARGE_CACHED hz3_gauge(HZ3_GAUGE_LARGE_CACHED)

/* What is in use, beside next to nothing. */
#define MUCH HZ3_MIB(160)

static int much_is_in_use(void **state)
{
    (void)state;
    hz3_gauge_add(HZ3_GAUGE_USED, MUCH);
    return 0;
}

static int little_is_in_use(void **state)
{
    (void)state;
    hz3_gauge_add(HZ3_GAUGE_USED, -MUCH);
    return 0;
}

#define WITH_MUCH_IN_USE(test) cmocka_unit_test_setup_teardown(test, much_is_in_use, little_is_in_use)

static void the_next_request_of_the_size_gets_the_block(void **state)
{
    (void)state;
    char *p = hz3_large_alloc(HZ3_MIB(2), 1);
    memset(p, 1, HZ3_MIB(2));
    hz3_large_free(p);
    assert_int_equal(LARGE_CACHED, HZ3_MIB(2));
    assert_false(hz3_large_is_live(p));
    char *again = hz3_large_alloc(HZ3_MIB(2), 1);
    hz3_large_zero(again, HZ3_MIB(2));
    assert_ptr_equal(again, p);
    for (size_t i = 0; i < HZ3_MIB(2); i++) assert_int_equal(again[i], 0);
    assert_int_equal(LARGE_CACHED, 0);
    hz3_large_free(again);
    hz3_large_cache_trim(0, true);
}

static void a_block_may_be_an_eighth_larger_and_no_more(void **state)
{
    (void)state;
    char *p = hz3_large_alloc(HZ3_MIB(9), 1);
    hz3_large_free(p);
    char *smaller = hz3_large_alloc(HZ3_MIB(8) - 1, 1);
    assert_ptr_equal(smaller, p);
    assert_int_equal(hz3_large_usable(smaller), HZ3_MIB(8));
    hz3_large_free(smaller);
    size_t dirty = hz3_gauge(HZ3_GAUGE_DIRTY);
    char *much_smaller = hz3_large_alloc(HZ3_MIB(8) - HZ3_GRANULE, 1);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_DIRTY) - dirty, HZ3_MIB(1) + HZ3_GRANULE); /* it was cut */
    assert_int_equal(LARGE_CACHED, 0);
    hz3_large_free(much_smaller);
    hz3_large_cache_trim(0, true);
    p = hz3_large_alloc(HZ3_MIB(9), 1);
    hz3_large_free(p);
    char *larger = hz3_large_alloc(HZ3_MIB(9) + 1, 1);
    assert_ptr_not_equal(larger, p);
    assert_int_equal(LARGE_CACHED, HZ3_MIB(9));
    hz3_large_free(larger);
    hz3_large_cache_trim(0, true);
}

/* Neighbours that wait serve a request that is larger than each, rather than fresh pages. */
static void blocks_yield_before_fresh_pages_are_taken(void **state)
{
    (void)state;
    hz3_pages_purge(0, 0, true);
    char *blocks[6];
    for (int i = 0; i < 6; i++) blocks[i] = hz3_large_alloc(HZ3_MIB(2), 1);
    for (int i = 0; i < 6; i++) hz3_large_free(blocks[i]);
    assert_int_equal(LARGE_CACHED, HZ3_MIB(12));
    assert_int_equal(hz3_gauge(HZ3_GAUGE_DIRTY), 0);
    char *larger = hz3_large_alloc(HZ3_MIB(5), 1);
    assert_int_equal(hz3_large_fresh(larger), 0);
    assert_int_equal(LARGE_CACHED, 0);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_DIRTY), HZ3_MIB(7));
    hz3_large_free(larger);
    hz3_large_cache_trim(0, true);
}

/* Less than is asked for would only come apart. */
static void blocks_that_are_too_few_stay(void **state)
{
    (void)state;
    hz3_pages_purge(0, 0, true);
    hz3_large_free(hz3_large_alloc(HZ3_MIB(2), 1));
    char *larger = hz3_large_alloc(HZ3_MIB(3), 1);
    assert_true(hz3_large_fresh(larger));
    assert_int_equal(LARGE_CACHED, HZ3_MIB(2));
    hz3_large_free(larger);
    hz3_large_cache_trim(0, true);
}

static void alignment_is_heeded(void **state)
{
    (void)state;
    char *blocks[8];
    for (int i = 0; i < 8; i++) blocks[i] = hz3_large_alloc(HZ3_MIB(2) + HZ3_GRANULE, 1);
    for (int i = 0; i < 8; i++) hz3_large_free(blocks[i]); /* each starts a granule further on */
    char *aligned = hz3_large_alloc(HZ3_MIB(2) + HZ3_GRANULE, HZ3_MIB(2));
    assert_int_equal((uintptr_t)aligned % HZ3_MIB(2), 0);
    hz3_large_free(aligned);
    size_t large_cached = LARGE_CACHED;
    assert_ptr_equal(hz3_large_alloc(HZ3_MIB(2) + HZ3_GRANULE, HZ3_MIB(2)), aligned);
    assert_int_equal(LARGE_CACHED, large_cached - HZ3_MIB(2) - HZ3_GRANULE);
    hz3_large_free(aligned);
    hz3_large_cache_trim(0, true);
}

static void *free_elsewhere(void *p)
{
    hz3_large_free(p);
    return NULL;
}

static void no_shard_is_private(void **state)
{
    (void)state;
    char *p = hz3_large_alloc(HZ3_MIB(3), 1);
    pthread_t other;
    for (int i = 0; i < 8; i++) { /* threads of every shard */
        assert_int_equal(pthread_create(&other, NULL, free_elsewhere, p), 0);
        pthread_join(other, NULL);
        assert_int_equal(LARGE_CACHED, HZ3_MIB(3));
        assert_ptr_equal(hz3_large_alloc(HZ3_MIB(3), 1), p);
    }
    hz3_large_free(p);
    hz3_large_cache_trim(0, true);
}

static void what_is_old_is_purged(void **state)
{
    (void)state;
    size_t used = hz3_gauge(HZ3_GAUGE_USED);
    hz3_large_free(hz3_large_alloc(HZ3_MIB(1), 1));
    assert_int_equal(hz3_gauge(HZ3_GAUGE_USED), used + HZ3_MIB(1));
    assert_int_equal(hz3_large_cache_trim(60 * 1000, true), 0);
    assert_int_equal(LARGE_CACHED, HZ3_MIB(1));
    assert_int_equal(hz3_large_cache_trim(0, true), HZ3_MIB(1));
    assert_int_equal(LARGE_CACHED, 0);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_USED), used);
}

/* How much is cached of `count` blocks of 2 MiB that were all in use, and were all freed. */
static size_t cached_of(size_t count)
{
    char *blocks[32];
    for (size_t i = 0; i < count; i++) blocks[i] = hz3_large_alloc(HZ3_MIB(2), 1);
    for (size_t i = 0; i < count; i++) hz3_large_free(blocks[i]);
    size_t cached = LARGE_CACHED;
    hz3_large_cache_trim(0, true);
    return cached;
}

static void shards_hold_an_eighth_of_what_is_in_use(void **state)
{
    (void)state;
    assert_int_equal(cached_of(32), (MUCH + HZ3_MIB(64)) / 8);
}

static void shards_hold_4_mib_where_little_is_in_use(void **state)
{
    (void)state;
    assert_int_equal(cached_of(8), HZ3_MIB(4));
}

static void shards_hold_a_fourth_of_what_may_be_retained(void **state)
{
    (void)state;
    size_t before = hz3_get(hz3_pages_dirty_max);
    hz3_set(hz3_pages_dirty_max, HZ3_MIB(40));
    assert_int_equal(cached_of(32), HZ3_MIB(10));
    hz3_set(hz3_pages_dirty_max, before);
}

static void a_full_shard_lets_the_oldest_go(void **state)
{
    (void)state;
    enum { SLOTS = 16, STEP = 7 }; /* the sizes are so far apart that no block serves for another size */
    char *blocks[SLOTS + 1];
    size_t size[SLOTS + 1], granules = 2;
    for (int i = 0; i <= SLOTS; i++, granules += granules / STEP + 1) {
        size[i] = granules * HZ3_GRANULE;
        blocks[i] = hz3_large_alloc(size[i], 1);
    }
    size_t before = hz3_get(hz3_pages_dirty_max), sum = 0;
    hz3_set(hz3_pages_dirty_max, SIZE_MAX);
    for (int i = 0; i <= SLOTS; i++) {
        hz3_large_free(blocks[i]);
        sum += size[i];
    }
    assert_int_equal(LARGE_CACHED, sum - size[0]);
    hz3_set(hz3_pages_dirty_max, before);
    hz3_large_cache_trim(0, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_next_request_of_the_size_gets_the_block),
                                       WITH_MUCH_IN_USE(a_block_may_be_an_eighth_larger_and_no_more),
                                       WITH_MUCH_IN_USE(blocks_yield_before_fresh_pages_are_taken),
                                       cmocka_unit_test(blocks_that_are_too_few_stay),
                                       WITH_MUCH_IN_USE(alignment_is_heeded),
                                       cmocka_unit_test(no_shard_is_private),
                                       cmocka_unit_test(what_is_old_is_purged),
                                       WITH_MUCH_IN_USE(shards_hold_an_eighth_of_what_is_in_use),
                                       cmocka_unit_test(shards_hold_4_mib_where_little_is_in_use),
                                       WITH_MUCH_IN_USE(shards_hold_a_fourth_of_what_may_be_retained),
                                       WITH_MUCH_IN_USE(a_full_shard_lets_the_oldest_go)};
    /* Lane secure has secure/large_quarantine in its place. */
    return HZ3_SECURE ? 77 : cmocka_run_group_tests(tests, unit_start, NULL);
}
