/* Lane secure: nobody may touch what lies before a run, whatever it was cut out of; what is purged becomes one hole
 * with its guards, for runs and blocks of any size; and there are only so many guards. */
#include "unit.h"

#include "back/free_spans.h"
#include "back/gauges.h"
#include "back/grow.h"
#include "back/pages.h"
#include "back/purge.h"

#include <sys/mman.h>

enum { SIZES = 5, NEIGHBOURS = 40, MANY = 6000, MOST = 4096, SHARE = 64 };

static bool is_mapped(uintptr_t at)
{
    unsigned char resident;
    return mincore((void *)(at & ~(hz3_os.page - 1)), 1, &resident) == 0;
}

static struct hz3_span *take(size_t granules)
{
    struct hz3_span *run = hz3_pages_alloc(granules, 1, HZ3_SPAN_RUN);
    assert_non_null(run);
    assert_int_equal(run->granules, granules);
    memset((void *)run->start, 1, hz3_span_bytes(run));
    return run;
}

static bool is_guarded(const struct hz3_span *run)
{
    return !is_mapped(run->start - 1) && !is_mapped(run->start - HZ3_GRANULE);
}

static size_t guards(void)
{
    return hz3_gauge(HZ3_GAUGE_GUARDS) / HZ3_GRANULE;
}

static void expect_guards(void)
{
    struct hz3_span *runs[SIZES];
    for (unsigned i = 0; i < SIZES; i++) assert_true(is_guarded(runs[i] = take((size_t)1 << i)));
    for (unsigned i = 0; i < SIZES; i++) hz3_pages_free(runs[i]);
}

static void each_table_has_a_guard(void **state)
{
    (void)state;
    hz3_pages_free(take(1));
    const struct hz3_window *window = &hz3_windows[0];
    uintptr_t bitmaps = (uintptr_t)window->free, tags = (uintptr_t)window->tags;
    assert_true(is_mapped((uintptr_t)window->spans) && is_mapped(bitmaps) && is_mapped(tags));
    assert_false(is_mapped(bitmaps - 1) || is_mapped(bitmaps - HZ3_GRANULE));
    assert_false(is_mapped(tags - 1) || is_mapped(tags - HZ3_GRANULE));
    assert_false(is_mapped(window->base));
}

static void each_run_has_a_guard(void **state)
{
    (void)state;
    struct hz3_span *blocks[SIZES];
    expect_guards(); /* of what was never used */
    expect_guards(); /* of what runs left */
    for (unsigned i = 0; i < SIZES; i++)
        memset((void *)(blocks[i] = hz3_pages_alloc(33, 1, HZ3_SPAN_LARGE))->start, 1, 1);
    for (unsigned i = 0; i < SIZES; i++) hz3_pages_free(blocks[i]);
    expect_guards(); /* of what blocks left */
    hz3_pages_purge(0, 0, true);
    expect_guards(); /* of holes */
}

static void what_is_purged_is_one_hole(void **state)
{
    (void)state;
    hz3_pages_purge(0, 0, true);
    size_t before = guards();
    struct hz3_span *runs[NEIGHBOURS];
    for (unsigned i = 0; i < NEIGHBOURS; i++) runs[i] = take(1);
    assert_int_equal(guards(), before + NEIGHBOURS);
    for (unsigned i = 0; i < NEIGHBOURS; i++) hz3_pages_free(runs[i]);
    assert_int_equal(guards(), before + NEIGHBOURS); /* the next runs there will need them */
    hz3_pages_purge(0, 0, true);
    if (hz3_windows[0].reserved) skip();
    assert_int_equal(guards(), before);
    size_t grown = hz3_grown;
    struct hz3_span *block = hz3_pages_alloc(NEIGHBOURS, 1, HZ3_SPAN_LARGE);
    assert_int_equal(hz3_grown, grown);
    memset((void *)block->start, 1, hz3_span_bytes(block));
    hz3_pages_free(block);
}

static void a_large_heap_has_fewer(void **state)
{
    (void)state;
    static struct hz3_span *runs[MANY];
    for (unsigned i = 0; i < MANY; i++) assert_non_null(runs[i] = hz3_pages_alloc(1, 1, HZ3_SPAN_RUN));
    assert_in_range(guards(), MOST, MOST + hz3_grown / HZ3_GRANULE / SHARE);
    for (unsigned i = 0; i < MANY; i++) hz3_pages_free(runs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_table_has_a_guard),
        cmocka_unit_test(each_run_has_a_guard),
        cmocka_unit_test(what_is_purged_is_one_hole),
        cmocka_unit_test(a_large_heap_has_fewer),
    };
    return HZ3_SECURE ? cmocka_run_group_tests(tests, unit_start, NULL) : 77;
}
