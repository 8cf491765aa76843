/* Advice to the system about huge pages: broken ones stay broken, and memory that is mapped again is advised again. */
#include "unit.h"

#include "back/arena.h"
#include "back/fork_reserve.h"
#include "back/gauges.h"
#include "back/huge_pages.h"
#include "back/learn.h"
#include "back/limits.h"
#include "back/pages.h"
#include "back/purge.h"
#include "os/os.h"

#include "pool.h"

#include <inttypes.h>
#include <stdio.h>

enum { MANY = 2000 }; /* more granules than are free in one place */

/* Whether MADV_NOHUGEPAGE was given for the page's mapping, by smaps. */
static bool is_advised(uintptr_t page)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    assert_non_null(maps);
    char line[512];
    uintptr_t start = 0, end = 0, from, to;
    bool has = false;
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) start = from, end = to;
        if (page >= start && page < end && !strncmp(line, "VmFlags:", 8)) has = strstr(line, " nh") != NULL;
    }
    fclose(maps);
    return has;
}

/* Moves a span, and makes that fail unless `works`.  Returns the address that lost its pages. */
static uintptr_t move(bool works)
{
    struct hz3_span *from = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE), *to = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE);
    uintptr_t left = works ? from->start : to->start;
    size_t small = hz3_get(hz3_small_pages_bytes);
    moves_fail = !works;
    hz3_set(hz3_small_pages_bytes, 0); /* else one span may have small pages and the other huge ones */
    assert_int_equal(hz3_pages_move(to, from), works);
    hz3_set(hz3_small_pages_bytes, small);
    return left;
}

/* A fork beside a thread sets much aside, which nobody may ever touch. */
static void they_go_on_behind_the_fork_reserve(void **state)
{
    (void)state;
    hz3_learn_now();
    size_t huge_page = hz3_os.huge_page;
    hz3_os.huge_page = HZ3_MIB(2);
    struct hz3_span *before = hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE);
    hz3_fork_reserve_fill();
    struct hz3_span *behind = hz3_pages_alloc(64, 1, HZ3_SPAN_LARGE);
    assert_int_equal(hz3_huge_page_at(before->start), 0);
    assert_int_equal(hz3_huge_page_at(behind->start), 0);
    hz3_pages_free(behind);
    hz3_pages_free(before);
    hz3_os.huge_page = huge_page;
}

/* So its parts go at any time, and break nothing.  What a step takes beyond its 64 MiB may have huge pages. */
static void a_small_heap_has_small_pages(void **state)
{
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) skip();
    size_t huge_page = hz3_os.huge_page, broken = hz3_get(hz3_os_broken);
    hz3_os.huge_page = HZ3_MIB(2);
    struct hz3_span *small = hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE), *large = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE);
    struct hz3_span *behind = hz3_pages_alloc(2, 1, HZ3_SPAN_LARGE);
    assert_true(is_advised(small->start));
    assert_false(is_advised(large->start + HZ3_MIB(4)));
    assert_int_equal(hz3_huge_page_at(small->start), 0);
    assert_int_equal(hz3_huge_page_at(large->start + HZ3_MIB(4)), HZ3_MIB(2));
    assert_false(hz3_small_pages_go_on(hz3_small_pages_start + hz3_small_pages_bytes, HZ3_SMALL_PAGES));
    if (hz3_huge_page_at(behind->start)) assert_false(hz3_pages_move(behind, small));
    hz3_pages_free(small);
    assert_true(hz3_pages_purge(0, 0, false) >= HZ3_GRANULE);
    hz3_pages_free(large);
    hz3_pages_purge(0, 0, false);
    assert_int_equal(hz3_get(hz3_os_broken), broken);
    hz3_os.huge_page = huge_page;
}

/* Pages of state bytes are not counted, as no huge page is made of them. */
static void parts_of_huge_pages_are_counted(void **state)
{
    (void)state;
    hz3_pages_purge(0, 0, true);
    size_t huge_page = hz3_os.huge_page, broken = hz3_get(hz3_os_broken);
    hz3_os.huge_page = HZ3_MIB(2);
    hz3_pages_free(hz3_pages_alloc(16, 16, HZ3_SPAN_LARGE));
    hz3_set(hz3_small_pages_bytes, 0);
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

static void no_table_gets_huge_pages(void **state)
{
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) skip();
    enum hz3_thp before = hz3_huge_pages;
    hz3_huge_pages = HZ3_THP_NEVER;
    struct hz3_span *span = hz3_pages_alloc(4 * HZ3_MIB(64) >> HZ3_GRANULE_SHIFT, 1, HZ3_SPAN_LARGE);
    const struct hz3_window *window = hz3_window_of((void *)span->start);
    assert_true(is_advised((uintptr_t)&window->spans[window->spans_mapped - 1]));
    assert_true(is_advised((uintptr_t)&window->free[window->free_mapped - 1]));
    hz3_arena_advise();
    assert_true(is_advised((uintptr_t)window->spans));
    assert_true(is_advised((uintptr_t)window->free));
    hz3_huge_pages = before;
    hz3_pages_free(span);
}

/* Has to be the last test, since it leaves memory locked. */
static void what_is_mapped_again_is_advised_again(void **state)
{
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) skip();
    hz3_huge_pages = HZ3_THP_NEVER;
    uintptr_t left = move(true);
    assert_true(HZ3_SECURE || is_advised(left)); /* there it stays a hole */
    assert_true(is_advised(move(false)));
    hz3_pages_locked();
    uintptr_t hole = move(true);
    assert_int_equal(hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE)->start, hole);
    assert_false(is_advised(hole)); /* advice would make it a mapping of its own */
}

RUN(cmocka_unit_test(they_go_on_behind_the_fork_reserve), cmocka_unit_test(a_small_heap_has_small_pages),
    cmocka_unit_test(parts_of_huge_pages_are_counted), cmocka_unit_test(broken_huge_pages_stay_so),
    cmocka_unit_test(no_table_gets_huge_pages), cmocka_unit_test(what_is_mapped_again_is_advised_again))
