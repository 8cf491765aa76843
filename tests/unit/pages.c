/* The page pool: spans do not overlap, merge when freed, keep the gauges exact, and read as zero once purged.  Where
 * the system has huge pages, whole ones are purged. */
#include "unit.h"

#include "back/gauges.h"
#include "back/huge_pages.h"
#include "back/pages.h"
#include "back/purge.h"
#include "os/os.h"
#include "os/refusal.h"

#include "pool.h"

enum { MANY = 2000 }; /* more granules than are free in one place */

/* Has to be the first test, as its first span has to be at the start of the window. */
static void whole_huge_pages_go(void **state)
{
    (void)state;
    hz3_os.counts_mapped = false; /* these two make the tests the same on every machine */
    size_t huge_page = hz3_os.huge_page;
    hz3_os.huge_page = HZ3_MIB(2);
    hz3_pages_free(hz3_pages_alloc(4, 1, HZ3_SPAN_LARGE));
    hz3_set(hz3_small_pages_bytes, 0);
    assert_int_equal(hz3_pages_purge(0, 0, false), 0);
    assert_false(hz3_pages_refused());
    hz3_pages_free(hz3_pages_alloc(96, 1, HZ3_SPAN_LARGE));
    hz3_set(hz3_small_pages_bytes, 0);
    size_t purged = hz3_pages_purge(0, 0, false);
    assert_true(purged == HZ3_MIB(4) || purged == HZ3_MIB(6));
    assert_true(most_advised <= HZ3_MIB(6));
    hz3_os.huge_page = huge_page;
}

static void spans_are_aligned_and_apart(void **state)
{
    (void)state;
    enum { N = 200 };
    struct hz3_span *spans[N];
    size_t used = hz3_gauge(HZ3_GAUGE_USED), taken = 0;
    for (size_t i = 0; i < N; i++) {
        size_t align = (size_t)1 << i % 5;
        spans[i] = hz3_pages_alloc(1 + i % 7, align, HZ3_SPAN_LARGE);
        assert_non_null(spans[i]);
        assert_int_equal(spans[i]->granules, 1 + i % 7);
        assert_int_equal(spans[i]->start % (align << HZ3_GRANULE_SHIFT), 0);
        memset((void *)spans[i]->start, (int)i, hz3_span_bytes(spans[i]));
        taken += hz3_span_bytes(spans[i]);
    }
    assert_int_equal(hz3_gauge(HZ3_GAUGE_USED), used + taken);
    for (size_t i = 0; i < N; i++) {
        const unsigned char *p = (void *)spans[i]->start;
        assert_int_equal(p[0], i);
        assert_int_equal(p[hz3_span_bytes(spans[i]) - 1], i);
    }
    for (size_t i = 0; i < N; i += 2) hz3_pages_free(spans[i]);
    for (size_t i = 1; i < N; i += 2) hz3_pages_free(spans[i]);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_USED), used);
}

static void aligned_spans_are_used_again(void **state)
{
    (void)state;
    enum { N = 40, GRANULES = 32 };
    struct hz3_span *spans[N];
    for (int i = 0; i < N; i++) assert_non_null(spans[i] = hz3_pages_alloc(GRANULES, GRANULES, HZ3_SPAN_LARGE));
    for (int i = 0; i < N; i += 2) hz3_pages_free(spans[i]);
    size_t all = all_bytes();
    for (int i = 0; i < N; i += 2) {
        assert_non_null(spans[i] = hz3_pages_alloc(GRANULES, GRANULES, HZ3_SPAN_LARGE));
        assert_int_equal(spans[i]->start % (GRANULES << HZ3_GRANULE_SHIFT), 0);
    }
    assert_int_equal(all_bytes(), all);
    for (int i = 0; i < N; i++) hz3_pages_free(spans[i]);
}

static void neighbours_merge(void **state)
{
    (void)state;
    hz3_pages_purge(0, 0, true);
    struct hz3_span *whole = hz3_pages_alloc(64, 1, HZ3_SPAN_LARGE);
    uintptr_t start = whole->start;
    hz3_pages_free(whole);
    struct hz3_span *parts[4];
    for (int i = 0; i < 4; i++) parts[i] = hz3_pages_alloc(16, 1, HZ3_SPAN_LARGE);
    hz3_pages_free(parts[1]);
    hz3_pages_free(parts[3]);
    hz3_pages_free(parts[0]);
    hz3_pages_free(parts[2]);
    whole = hz3_pages_alloc(64, 1, HZ3_SPAN_LARGE);
    assert_int_equal(whole->start, start);
    hz3_pages_free(whole);
}

static void purged_pages_read_as_zero_and_dirty_ones_do_not_claim_to(void **state)
{
    (void)state;
    struct hz3_span *span = hz3_pages_alloc(8, 1, HZ3_SPAN_LARGE);
    uintptr_t start = span->start;
    memset((void *)start, 0xff, hz3_span_bytes(span));
    hz3_pages_free(span);
    span = hz3_pages_alloc(8, 1, HZ3_SPAN_LARGE);
    assert_int_equal(span->start, start);
    assert_false(span->zeroed);
    hz3_pages_free(span);
    size_t before = all_bytes();
    assert_true(hz3_pages_purge(0, 0, true) >= 8 * (size_t)HZ3_GRANULE);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_DIRTY), 0);
    assert_int_equal(all_bytes(), before);
    const char *p = (void *)start;
    for (size_t i = 0; i < 8 * (size_t)HZ3_GRANULE; i += 512) assert_int_equal(p[i], 0);
}

static void young_spans_are_kept(void **state)
{
    (void)state;
    hz3_pages_free(hz3_pages_alloc(8, 1, HZ3_SPAN_LARGE));
    size_t dirty = hz3_gauge(HZ3_GAUGE_DIRTY);
    assert_int_equal(hz3_pages_purge(60000, 0, true), 0);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_DIRTY), dirty);
}

static void untouched_spans_take_no_dirty_one_s_place(void **state)
{
    (void)state;
    hz3_pages_free(hz3_pages_alloc(32, 1, HZ3_SPAN_LARGE));
    size_t dirty = hz3_gauge(HZ3_GAUGE_DIRTY), purged = hz3_gauge(HZ3_GAUGE_PURGED);
    struct hz3_span *span = hz3_pages_alloc_untouched(1024);
    assert_non_null(span);
    assert_true(span->zeroed);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_DIRTY), dirty);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_PURGED), purged);
    hz3_pages_free(span);
}

static void resizing_in_place(void **state)
{
    (void)state;
    struct hz3_span *span = hz3_pages_alloc(10, 1, HZ3_SPAN_LARGE);
    uintptr_t start = span->start;
    hz3_pages_shrink(span, 4);
    assert_int_equal(span->granules, 4);
    assert_true(hz3_pages_grow(span, 10, false));
    assert_int_equal(span->granules, 10);
    assert_int_equal(span->start, start);
    hz3_pages_shrink(span, 9);
    struct hz3_span *right = hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE); /* the best fit is what was cut off */
    if (right->start == start + hz3_span_bytes(span)) assert_false(hz3_pages_grow(span, 10, false));
    hz3_pages_free(right);
    hz3_pages_free(span);
}

/* The part of `to` beyond the moved pages keeps its content, which is zero if it is clean. */
static void pages_move_to(bool clean)
{
    if (clean) hz3_pages_purge(0, 0, true);
    struct hz3_span *from = hz3_pages_alloc(4, 1, HZ3_SPAN_LARGE), *to = hz3_pages_alloc(6, 1, HZ3_SPAN_LARGE);
    assert_int_equal(to->zeroed, clean);
    memset((void *)from->start, 0x5a, hz3_span_bytes(from));
    if (!clean) memset((void *)to->start, 0x77, hz3_span_bytes(to));
    size_t before = all_bytes();
    uintptr_t old = from->start;
    assert_true(hz3_pages_move(to, from));
    const unsigned char *p = (void *)to->start;
    size_t i = 0;
    for (; i < 4 * (size_t)HZ3_GRANULE; i += 64) assert_int_equal(p[i], 0x5a);
    for (; i < hz3_span_bytes(to); i += 64) assert_int_equal(p[i], clean ? 0 : 0x77);
    memset((void *)to->start, 1, hz3_span_bytes(to));
    assert_int_equal(all_bytes(), before);
    if (!HZ3_SECURE) assert_int_equal(*(const unsigned char *)old, 0); /* mapped again */
    hz3_pages_free(to);
}

static void pages_move(void **state)
{
    (void)state;
    pages_move_to(true);
    hz3_pages_free(hz3_pages_alloc(16, 1, HZ3_SPAN_LARGE)); /* dirty now */
    pages_move_to(false);
}

static void what_counts_as_mapped_is_unmapped(void **state)
{
    (void)state;
    if (hz3_windows[0].reserved) skip();
    hz3_os.counts_mapped = true;
    struct hz3_span *span = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE);
    size_t before = all_bytes(), bytes = hz3_span_bytes(span), unmapped = hz3_gauge(HZ3_GAUGE_UNMAPPED);
    uintptr_t start = span->start;
    memset((void *)start, 0x5a, bytes);
    hz3_pages_free(span);
    hz3_pages_purge(0, 0, true);
    assert_true(hz3_gauge(HZ3_GAUGE_UNMAPPED) >= unmapped + bytes);
    assert_int_equal(all_bytes(), before);
    assert_int_equal(msync((void *)start, bytes, MS_ASYNC), -1); /* nothing is there */
    unmapped = hz3_gauge(HZ3_GAUGE_UNMAPPED);
    span = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_UNMAPPED), unmapped - bytes);
    assert_true(span->zeroed && *(const unsigned char *)span->start == 0);
    hz3_pages_free(span);
    hz3_os.counts_mapped = false;
}

/* Addresses that only hz3 cannot place are no limit of the system. */
static void what_the_system_would_grant_is_no_limit(void **state)
{
    (void)state;
    size_t many = (size_t)1 << 45;
    if (hz3_windows[0].reserved || !hz3_os_has_room(2 * many)) skip();
    hz3_os.counts_mapped = false;
    hz3_pages_free(hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE));
    assert_null(hz3_pages_alloc(1, many >> HZ3_GRANULE_SHIFT, HZ3_SPAN_LARGE));
    assert_false(hz3_os.counts_mapped);
}

/* Purges some granules, so that they become clean or a hole, and then those behind them.  The page of bitmaps across
 * the border is to go back, whose neighbour on the left is in use. */
static void tables_go_back_across(size_t page, size_t granules, enum hz3_span_kind kind)
{
    hz3_pages_purge(0, 0, true);
    hz3_pages_free(hz3_pages_alloc(5 * page, page, HZ3_SPAN_LARGE));
    struct hz3_span *used = hz3_pages_alloc(page, page, HZ3_SPAN_LARGE);
    struct hz3_span *first = hz3_pages_alloc(granules, page, HZ3_SPAN_LARGE);
    struct hz3_span *second = hz3_pages_alloc(4 * page - granules, 1, HZ3_SPAN_LARGE);
    assert_int_equal(first->start, used->start + hz3_span_bytes(used));
    assert_int_equal(second->start, first->start + hz3_span_bytes(first));
    struct hz3_window *window = hz3_window_of((void *)second->start);
    void *bitmap = window->free[hz3_first_granule(window, second)];
    memset(bitmap, 0xff, sizeof *window->free);
    hz3_os.counts_mapped = kind == HZ3_SPAN_UNMAPPED;
    hz3_pages_discard(first, 0, true);
    hz3_os.counts_mapped = false;
    assert_int_equal(first->kind, kind);
    assert_int_not_equal(bytes_in_memory((uintptr_t)bitmap & -hz3_os.page, hz3_os.page), 0);
    hz3_pages_discard(second, 0, true);
    assert_int_equal(bytes_in_memory((uintptr_t)bitmap & -hz3_os.page, hz3_os.page), 0);
    hz3_pages_free(used);
}

static void tables_go_back_across_borders(void **state)
{
    (void)state;
    size_t page = hz3_os.page / sizeof *hz3_windows[0].free; /* granules that a page of bitmaps describes */
    tables_go_back_across(page, 1, HZ3_SPAN_CLEAN);
    tables_go_back_across(page, page / 2, HZ3_SPAN_CLEAN);
    if (!hz3_windows[0].reserved) tables_go_back_across(page, 2 * page + page / 2, HZ3_SPAN_UNMAPPED);
}

/* A process at vm.max_map_count: the target is still there, and its pages must not be lost. */
static void a_target_that_stayed_is_clean(void **state)
{
    (void)state;
    struct hz3_span *from = hz3_pages_alloc(4, 1, HZ3_SPAN_LARGE), *to = hz3_pages_alloc(4, 1, HZ3_SPAN_LARGE);
    unsigned char *target = (void *)to->start;
    memset(target, 0x5a, hz3_span_bytes(to));
    size_t unmapped = hz3_gauge(HZ3_GAUGE_UNMAPPED);
    no_mappings = true;
    assert_false(hz3_pages_move(to, from));
    no_mappings = false;
    assert_int_equal(hz3_gauge(HZ3_GAUGE_UNMAPPED), unmapped);
    assert_int_equal(*target, 0);
    hz3_pages_free(from);
}

/* Where the system refuses all but munmap, nothing stays resident, and the place is used again. */
static void a_target_that_cannot_be_renewed_is_unmapped(void **state)
{
    (void)state;
    if (hz3_windows[0].reserved) skip();
    struct hz3_span *from = hz3_pages_alloc(4, 1, HZ3_SPAN_LARGE), *to = hz3_pages_alloc(4, 1, HZ3_SPAN_LARGE);
    uintptr_t target = to->start;
    size_t unmapped = hz3_gauge(HZ3_GAUGE_UNMAPPED);
    no_mappings = no_purges = true;
    assert_false(hz3_pages_move(to, from));
    no_mappings = no_purges = false;
    assert_int_equal(hz3_gauge(HZ3_GAUGE_UNMAPPED), unmapped + 4 * HZ3_GRANULE);
    assert_int_equal(hz3_os_map_at(target, 4 * HZ3_GRANULE), HZ3_MAPPED);
    assert_true(hz3_os_unmap(target, 4 * HZ3_GRANULE));
    hz3_pages_free(from);
}

/* Its descriptor may be that of an earlier run. */
static void a_new_run_has_handed_out_nothing(void **state)
{
    (void)state;
    struct hz3_span *run = hz3_pages_alloc(1, 1, HZ3_SPAN_RUN), *again;
    hz3_set(run->bump, 5);
    hz3_pages_free(run);
    again = hz3_pages_alloc(1, 1, HZ3_SPAN_RUN);
    assert_int_equal(hz3_get(again->bump), 0);
    hz3_pages_free(again);
}

RUN(cmocka_unit_test(whole_huge_pages_go), cmocka_unit_test(spans_are_aligned_and_apart),
    cmocka_unit_test(a_new_run_has_handed_out_nothing), cmocka_unit_test(aligned_spans_are_used_again),
    cmocka_unit_test(neighbours_merge), cmocka_unit_test(purged_pages_read_as_zero_and_dirty_ones_do_not_claim_to),
    cmocka_unit_test(young_spans_are_kept), cmocka_unit_test(untouched_spans_take_no_dirty_one_s_place),
    cmocka_unit_test(resizing_in_place), cmocka_unit_test(pages_move),
    cmocka_unit_test(what_counts_as_mapped_is_unmapped), cmocka_unit_test(tables_go_back_across_borders),
    cmocka_unit_test(what_the_system_would_grant_is_no_limit), cmocka_unit_test(a_target_that_stayed_is_clean),
    cmocka_unit_test(a_target_that_cannot_be_renewed_is_unmapped))
