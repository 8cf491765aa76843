/* Advice to the system about huge pages: broken ones stay broken, memory that is mapped again is advised again, and
 * huge pages are asked for where small objects fill their runs. */
#include "unit.h"

#include "back/arena.h"
#include "back/gauges.h"
#include "back/huge_pages.h"
#include "back/limits.h"
#include "back/pages.h"
#include "back/purge.h"
#include "os/os.h"

#include "pool.h"

#include <inttypes.h>
#include <stdio.h>

enum { MANY = 2000 };    /* more granules than are free in one place */
enum { HUGE_PAGE = 32 }; /* granules of a huge page of 2 MiB */

/* Whether the page's mapping has this flag in smaps.  " nh": MADV_NOHUGEPAGE was given, " hg": MADV_HUGEPAGE.
 */
static bool has_flag(uintptr_t page, const char *flag)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    assert_non_null(maps);
    char line[512];
    uintptr_t start = 0, end = 0, from, to;
    bool has = false;
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) start = from, end = to;
        if (page >= start && page < end && !strncmp(line, "VmFlags:", 8)) has = strstr(line, flag) != NULL;
    }
    fclose(maps);
    return has;
}

static bool is_advised(uintptr_t page)
{
    return has_flag(page, " nh");
}

/* Moves a span, and makes that fail unless `works`.  Returns the address that lost its pages. */
static uintptr_t move(bool works)
{
    struct hz3_span *from = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE), *to = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE);
    uintptr_t left = works ? from->start : to->start;
    moves_fail = !works;
    assert_int_equal(hz3_pages_move(to, from), works);
    return left;
}

/* Pages of state bytes are not counted, as no huge page is made of them. */
static void parts_of_huge_pages_are_counted(void **state)
{
    (void)state;
    hz3_pages_purge(0, 0, true);
    size_t huge_page = hz3_os.huge_page, broken = hz3_get(hz3_os_broken);
    hz3_os.huge_page = HZ3_MIB(2);
    hz3_pages_free(hz3_pages_alloc(16, 16, HZ3_SPAN_LARGE));
    assert_int_equal(hz3_pages_purge(0, 0, true), HZ3_MIB(1));
    assert_int_equal(hz3_get(hz3_os_broken) - broken, HZ3_MIB(1));
    hz3_os.huge_page = huge_page;
}

/* Clean spans are purged once more, without a trace in the gauges.  Dirty spans stay.  The system is advised once, and
 * again of memory that is mapped again. */
static void broken_huge_pages_stay_so(void **state)
{
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) skip();
    struct hz3_span *clean = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE), *between = hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE);
    struct hz3_span *young = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE), *last = hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE);
    uintptr_t start = clean->start;
    hz3_pages_discard(clean, 0, true);
    hz3_pages_free(young);
    hz3_add(hz3_os_broken, HZ3_MIB(1024));
    size_t dirty = hz3_gauge(HZ3_GAUGE_DIRTY), all = all_bytes(), purged = hz3_gauge(HZ3_GAUGE_PURGED);
    *(char *)start = 1; /* as khugepaged might fill it */
    hz3_pages_stay_broken();
    assert_int_equal(*(char *)start, 0);
    assert_true(is_advised(start));
    assert_int_equal(hz3_gauge(HZ3_GAUGE_DIRTY), dirty);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_PURGED), purged);
    assert_int_equal(all_bytes(), all);
    hz3_add(hz3_os_broken, HZ3_MIB(1024));
    most_advised = 0;
    hz3_pages_stay_broken();
    assert_int_equal(most_advised, 0);
    uintptr_t left = move(true);
    assert_true(HZ3_SECURE || is_advised(left)); /* there it stays a hole */
    hz3_pages_free(between);
    hz3_pages_free(last);
    for (uint32_t i = 0; i < hz3_get(hz3_window_count); i++) hz3_set(hz3_windows[i].broken, 0);
}

/* A small window has no room left for huge pages by now.  In lane secure runs stand apart and cannot share one. */
static size_t set_up_asking(size_t small, size_t growing)
{
    if (HZ3_SECURE || hz3_windows[0].bytes < HZ3_MIB(1024)) skip();
    size_t asked = hz3_os.huge_page_asked;
    hz3_os.huge_page_asked = (size_t)HUGE_PAGE << HZ3_GRANULE_SHIFT;
    hz3_set(hz3_gauges[HZ3_GAUGE_SMALL], small);
    hz3_set(hz3_gauges[HZ3_GAUGE_GROWING], growing);
    hz3_pages_purge(0, 0, true);
    return asked;
}

static void clean_up_asking(size_t asked)
{
    hz3_os.huge_page_asked = asked;
    hz3_set(hz3_gauges[HZ3_GAUGE_SMALL], 0);
    hz3_set(hz3_gauges[HZ3_GAUGE_GROWING], 0);
}

static void full_runs_get_a_huge_page_for_more(void **state)
{
    (void)state;
    size_t used = hz3_gauge(HZ3_GAUGE_USED), asked = set_up_asking(HZ3_MIB(64), HZ3_MIB(4));
    struct hz3_span *reserve = NULL, *runs[HUGE_PAGE];
    for (int i = 0; i < HUGE_PAGE; i++) {
        runs[i] = hz3_pages_alloc_run(1, &reserve);
        assert_int_equal(runs[i]->granules, 1);
        assert_int_equal(runs[i]->start, runs[0]->start + (size_t)i * HZ3_GRANULE);
        assert_true(reserve || i == HUGE_PAGE - 1);
        assert_int_equal(hz3_gauge(HZ3_GAUGE_USED) - used, HZ3_MIB(2));
    }
    assert_int_equal(runs[0]->start % HZ3_MIB(2), 0);
    assert_null(reserve);
    /* Clean spans are used up first.  The system is asked only for memory that was never mapped. */
    bool asks = !access("/sys/kernel/mm/transparent_hugepage", F_OK);
    uintptr_t frontier = hz3_windows[0].base + ((uintptr_t)hz3_windows[0].frontier << HZ3_GRANULE_SHIFT);
    while (runs[0]->start < frontier)
        for (int i = 0; i < HUGE_PAGE; i++) runs[i] = hz3_pages_alloc_run(1, &reserve);
    assert_int_equal(has_flag(runs[0]->start, " hg"), asks);
    assert_int_equal(has_flag(runs[HUGE_PAGE - 1]->start, " hg"), asks);
    clean_up_asking(asked);
}

static void what_is_dirty_is_used_before_a_huge_page(void **state)
{
    (void)state;
    size_t asked = set_up_asking(HZ3_MIB(64), HZ3_MIB(4));
    struct hz3_span *reserve = NULL;
    hz3_pages_free(hz3_pages_alloc(2, 1, HZ3_SPAN_LARGE));
    for (int i = 0; i < 2; i++) assert_non_null(hz3_pages_alloc_run(1, &reserve));
    assert_null(reserve);
    assert_non_null(hz3_pages_alloc_run(1, &reserve));
    assert_int_equal(reserve->granules, HUGE_PAGE - 1);
    /* The rest of the reserve is dirty when it goes back, as the system made the whole huge page. */
    size_t dirty = hz3_gauge(HZ3_GAUGE_DIRTY);
    hz3_pages_free(reserve);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_DIRTY) - dirty, (HUGE_PAGE - 1) * HZ3_GRANULE);
    clean_up_asking(asked);
}

/* A range that was asked for and went back serves large blocks in small pages.  The next reserve asks again. */
static void what_was_asked_for_is_for_reserves(void **state)
{
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) skip();
    size_t asked = set_up_asking(HZ3_MIB(64), HZ3_MIB(4));
    struct hz3_span *reserve = NULL, *run = hz3_pages_alloc_run(1, &reserve);
    uintptr_t start = run->start;
    assert_true(has_flag(start, " hg"));
    assert_int_equal(hz3_huge_page_at(start + HZ3_GRANULE), HZ3_MIB(2));
    hz3_pages_free(run);
    hz3_pages_free(reserve);
    hz3_pages_purge(0, 0, true);
    struct hz3_span *block = hz3_pages_alloc(HUGE_PAGE, HUGE_PAGE, HZ3_SPAN_LARGE);
    while (block->start != start) block = hz3_pages_alloc(HUGE_PAGE, HUGE_PAGE, HZ3_SPAN_LARGE);
    assert_true(has_flag(start, " nh"));
    assert_int_equal(hz3_huge_page_at(start), 0);
    hz3_pages_free(block);
    hz3_pages_purge(0, 0, true);
    struct hz3_span *reserves[64] = {NULL};
    unsigned n = 0;
    do run = hz3_pages_alloc_run(1, &reserves[n]);
    while (reserves[n++] && run->start != start && n < 64);
    assert_int_equal(run->start, start);
    assert_true(has_flag(start, " hg"));
    while (n) hz3_pages_free(reserves[--n]);
    clean_up_asking(asked);
}

static void above_the_soft_limit_there_are_no_reserves(void **state)
{
    (void)state;
    size_t asked = set_up_asking(HZ3_MIB(64), 0), limit = hz3_pages_soft_limit;
    struct hz3_span *reserve = NULL;
    hz3_pages_soft_limit = 1;
    assert_non_null(hz3_pages_alloc_run(1, &reserve));
    assert_null(reserve);
    hz3_pages_soft_limit = limit;
    clean_up_asking(asked);
}

static void runs_that_may_stay_half_empty_get_none(void **state)
{
    (void)state;
    struct hz3_span *reserve = NULL;
    size_t asked = set_up_asking(HZ3_MIB(64), HZ3_MIB(6) + HZ3_GRANULE);
    assert_non_null(hz3_pages_alloc_run(1, &reserve));
    assert_null(reserve);
    clean_up_asking(asked);
    asked = set_up_asking(HZ3_MIB(15), 0);
    assert_non_null(hz3_pages_alloc_run(1, &reserve));
    assert_null(reserve);
    clean_up_asking(asked);
    asked = set_up_asking(HZ3_MIB(64), 0);
    assert_non_null(hz3_pages_alloc_run(2, &reserve)); /* for larger objects, which may be touched only in part */
    assert_null(reserve);
    /* Reserves count as unused memory.  Four of them are an eighth of 64 MiB, which is the bound. */
    struct hz3_span *others[5] = {NULL};
    for (int i = 0; i < 5; i++) assert_non_null(hz3_pages_alloc_run(1, &others[i]));
    assert_non_null(others[3]);
    assert_null(others[4]);
    for (int i = 0; i < 4; i++) hz3_pages_free(others[i]);
    clean_up_asking(asked);
}

static void no_table_gets_huge_pages(void **state)
{
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) skip();
    bool never = hz3_huge_pages_never;
    hz3_huge_pages_never = true;
    struct hz3_span *span = hz3_pages_alloc(2 * HZ3_MIB(64) >> HZ3_GRANULE_SHIFT, 1, HZ3_SPAN_LARGE);
    const struct hz3_window *window = hz3_window_of((void *)span->start);
    assert_true(is_advised((uintptr_t)&window->spans[window->spans_mapped - 1]));
    assert_true(is_advised((uintptr_t)&window->free[window->free_mapped - 1]));
    hz3_arena_advise();
    assert_true(is_advised((uintptr_t)window->spans));
    assert_true(is_advised((uintptr_t)window->free));
    hz3_huge_pages_never = never;
    hz3_pages_free(span);
}

/* Only one test may follow: hz3_pages_locked() cannot be undone. */
static void what_is_mapped_again_is_advised_again(void **state)
{
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) skip();
    hz3_huge_pages_never = true;
    uintptr_t left = move(true);
    assert_true(HZ3_SECURE || is_advised(left)); /* there it stays a hole */
    assert_true(is_advised(move(false)));
    hz3_pages_locked();
    uintptr_t hole = move(true);
    assert_int_equal(hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE)->start, hole);
    assert_false(is_advised(hole)); /* advice would make it a mapping of its own */
}

static void locked_memory_is_not_of_huge_pages(void **state)
{
    (void)state;
    struct hz3_span *reserve = NULL;
    size_t asked = set_up_asking(HZ3_MIB(64), 0);
    assert_non_null(hz3_pages_alloc_run(1, &reserve));
    assert_null(reserve);
    clean_up_asking(asked);
}

RUN(cmocka_unit_test(parts_of_huge_pages_are_counted), cmocka_unit_test(broken_huge_pages_stay_so),
    cmocka_unit_test(full_runs_get_a_huge_page_for_more), cmocka_unit_test(what_is_dirty_is_used_before_a_huge_page),
    cmocka_unit_test(what_was_asked_for_is_for_reserves), cmocka_unit_test(above_the_soft_limit_there_are_no_reserves),
    cmocka_unit_test(runs_that_may_stay_half_empty_get_none), cmocka_unit_test(no_table_gets_huge_pages),
    cmocka_unit_test(what_is_mapped_again_is_advised_again), cmocka_unit_test(locked_memory_is_not_of_huge_pages))
