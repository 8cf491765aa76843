/* When a pass is due, and which memory goes back without one, and how soon. */
#include "unit.h"

#include "api/entry.h"
#include "back/gauges.h"
#include "back/large.h"
#include "back/large_cache.h"
#include "back/limits.h"
#include "back/pages.h"
#include "back/purge.h"
#include "back/rent.h"
#include "base/sizeclass.h"
#include "front/cache.h"
#include "front/evict.h"
#include "middle/central.h"
#include "middle/transfer_cache.h"
#include "os/gate.h"
#include "os/os.h"
#include "reclaim/pass.h"
#include "reclaim/visit.h"

enum { DAY = 24 * 3600 * 1000, GROWTH = 24 * 1024 * 1024 };

static void nothing_is_due_at_once(void **state)
{
    (void)state;
    static const uint32_t decays[] = {1000, 3600 * 1000, DAY, 7 * DAY, INT32_MAX};
    for (unsigned i = 0; i < sizeof decays / sizeof *decays; i++) {
        hz3_reclaim_start(decays[i]);
        uint32_t epoch = hz3_reclaim_tick();
        for (int tick = 0; tick < 100; tick++) assert_int_equal(hz3_reclaim_tick(), epoch);
    }
}

static void a_pass_comes_in_time(void **state)
{
    (void)state;
    hz3_reclaim_start(40);
    uint32_t epoch = hz3_reclaim_tick();
    for (int i = 0; i < 100 && hz3_reclaim_tick() == epoch; i++) hz3_os_sleep(10);
    assert_int_not_equal(hz3_reclaim_tick(), epoch);
}

/* What is old by then is so after the fork. */
static void a_pass_ends_where_a_fork_begins(void **state)
{
    (void)state;
    enum { OBJECTS = 256 };
    static void *object[OBJECTS];
    unsigned cls = hz3_class_of(2048);
    for (int i = 0; i < OBJECTS; i++) assert_non_null(object[i] = hz3_cache_malloc(cls));
    for (int i = 0; i < OBJECTS; i++)
        if (i % 16) hz3_cache_free(object[i], cls);
    hz3_cache_flush();
    hz3_transfer_trim(cls, true);
    hz3_pages_free(hz3_pages_alloc(64, 1, HZ3_SPAN_LARGE));
    hz3_os_sleep(20); /* two ticks of a coarse clock */
    hz3_gate_close();
    assert_int_equal(hz3_pages_purge(1, 0, true) + hz3_central_purge(cls, 1, true), 0);
    hz3_gate_open();
    assert_true(hz3_pages_purge(1, 0, true) >= 64 * HZ3_GRANULE);
    assert_true(hz3_central_purge(cls, 1, true) > 0);
    for (int i = 0; i < OBJECTS; i += 16) hz3_cache_free(object[i], cls);
}

/* Above the soft limit freed memory goes back at once.  Memory in use, touched or not, does not count as pressure. */
static void only_what_waits_presses(void **state)
{
    (void)state;
    enum { GRANULES = 1024 };
    size_t limit = hz3_pages_soft_limit;
    struct hz3_span *used = hz3_pages_alloc(GRANULES, 1, HZ3_SPAN_LARGE),
                    *freed = hz3_pages_alloc(64, 1, HZ3_SPAN_LARGE);
    assert_non_null(used);
    assert_non_null(freed);
    hz3_reclaim_run(true);
    hz3_pages_soft_limit = GRANULES / 2 * HZ3_GRANULE;
    assert_true(hz3_pages_resident() > hz3_pages_soft_limit);
    assert_false(hz3_pages_over_limit());
    memset((void *)freed->start, 1, 64 * HZ3_GRANULE);
    hz3_pages_free(freed);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_DIRTY), 0);
    assert_false(hz3_pages_over_limit());
    hz3_pages_free(used);
    hz3_pages_soft_limit = limit;
}

/* Allocates as the API does. */
static void *take(unsigned cls)
{
    void *p = hz3_cache_malloc(cls);
    if (hz3_thread.due) hz3_reclaim_visit_slow();
    return p;
}

/* Allocates 64 MiB, frees it but for two objects in each run, and allocates GROWTH of larger objects 120 ms later,
 * where the system makes huge pages unasked, or asked, if these are not 0.  Returns the bytes purged meanwhile. */
static size_t purged_by_growth(uint32_t decay_ms, size_t huge_page)
{
    enum { OBJECTS = 64 * 1024 * 1024 / 512, LARGER = GROWTH / 2048 };
    static void *object[OBJECTS], *larger[LARGER];
    unsigned cls = hz3_class_of(512), larger_cls = hz3_class_of(2048);
    hz3_reclaim_start(decay_ms);
    hz3_os.huge_page = 0;
    for (int i = 0; i < OBJECTS; i++) assert_non_null(object[i] = take(cls));
    for (int i = 0; i < OBJECTS; i++)
        if (i % 64) hz3_cache_free(object[i], cls);
    hz3_cache_flush();
    hz3_os_sleep(120);
    hz3_os.huge_page = huge_page;
    hz3_rent_forgive(HZ3_RENT_GROWTH);
    uint64_t before = hz3_gauge(HZ3_GAUGE_PURGED);
    for (int i = 0; i < LARGER; i++) assert_non_null(larger[i] = take(larger_cls));
    size_t purged = hz3_gauge(HZ3_GAUGE_PURGED) - before;
    for (int i = 0; i < OBJECTS; i += 64) hz3_cache_free(object[i], cls);
    for (int i = 0; i < LARGER; i++) hz3_cache_free(larger[i], larger_cls);
    hz3_cache_flush();
    hz3_reclaim_run(true);
    return purged;
}

static void who_grows_gives_back_what_is_idle(void **state)
{
    (void)state;
    size_t pinned = GROWTH / HZ3_GRANULE * 2 * hz3_os.page;
    size_t purged = purged_by_growth(6400, 0); /* no pass for 1.6 s, but memory free for 0.1 s may go */
    assert_true(purged + pinned + HZ3_MIB(4) >= GROWTH && purged <= GROWTH);
    assert_int_equal(purged_by_growth(DAY, 0), 0);
}

static void growth_spares_huge_pages(void **state)
{
    (void)state;
    assert_int_equal(purged_by_growth(6400, HZ3_MIB(2)), 0);
    hz3_os.huge_page = 0;
}

static void growth_makes_room_in_small_steps(void **state)
{
    (void)state;
    if (HZ3_SECURE) skip(); /* blocks are freed without pages */
    hz3_large_cache_trim(0, true);
    hz3_rent_forgive(HZ3_RENT_GROWTH);
    size_t step = hz3_max(hz3_gauge(HZ3_GAUGE_USED) / 128, (size_t)HZ3_GRANULE);
    hz3_thread.cache.grown = 0;
    hz3_large_free(hz3_large_alloc(HZ3_MIB(4), 1));
    assert_true(step >= HZ3_GRANULE && step < HZ3_KIB(512));
    hz3_reclaim_grew(step / 2);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_LARGE_CACHED), HZ3_MIB(4));
    hz3_reclaim_grew(step);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_LARGE_CACHED), 0);
}

static size_t resident_bitmaps(void)
{
    const struct hz3_window *window = &hz3_windows[0];
    return bytes_in_memory((uintptr_t)window->free, window->free_mapped * sizeof *window->free);
}

/* Memory goes back in pieces, each too small for a page of the table of its own. */
static void bitmaps_go_back(void **state)
{
    (void)state;
    if (HZ3_SECURE && hz3_windows[0].reserved) skip(); /* the guards between runs stay */
    enum { MANY = 512 * 1024, SIZE = 64 };
    static char *many[MANY];
    for (unsigned i = 0; i < MANY; i++) assert_non_null(many[i] = hz3_malloc(SIZE - HZ3_SEAL_BYTES));
    size_t before = resident_bitmaps();
    for (unsigned odd = 0; odd < 2; odd++) {
        for (unsigned i = 0; i < MANY; i++)
            if ((uintptr_t)many[i] / HZ3_GRANULE % 2 == odd) hz3_free(many[i]);
        hz3_collect(true);
    }
    assert_true(resident_bitmaps() + MANY * (size_t)SIZE / HZ3_GRANULE * sizeof *hz3_windows[0].free / 2 < before);
}

RUN(cmocka_unit_test(nothing_is_due_at_once), cmocka_unit_test(a_pass_comes_in_time),
    cmocka_unit_test(a_pass_ends_where_a_fork_begins), cmocka_unit_test(only_what_waits_presses),
    cmocka_unit_test(who_grows_gives_back_what_is_idle), cmocka_unit_test(growth_spares_huge_pages),
    cmocka_unit_test(growth_makes_room_in_small_steps), cmocka_unit_test(bitmaps_go_back))
