/* The page pool: spans do not overlap, merge when freed, keep their gauges exact, read as zero once purged, and go in
 * whole huge pages where there are such; broken ones stay so; what is mapped again is advised again; huge pages are
 * asked for where small objects fill their runs. */
#include "unit.h"

#include "back/gauges.h"
#include "back/huge_pages.h"
#include "back/limits.h"
#include "back/pages.h"
#include "back/purge.h"
#include "os/os.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static size_t most_advised; /* bytes in one call */
static bool moves_fail, no_mappings;

/* These three stand before libc's. */
int madvise(void *at, size_t bytes, int advice)
{
    most_advised = hz3_max(most_advised, bytes);
    return (int)syscall(SYS_madvise, at, bytes, advice);
}

void *mremap(void *from, size_t bytes, size_t new_bytes, int how, ...)
{
    va_list more;
    va_start(more, how);
    void *to = va_arg(more, void *);
    va_end(more);
    if (no_mappings) return (void *)-1;
    if (!moves_fail) return (void *)syscall(SYS_mremap, from, bytes, new_bytes, how, to);
    syscall(SYS_munmap, to, new_bytes);
    return (void *)-1;
}

void *mmap(void *at, size_t bytes, int protection, int how, int fd, off_t offset)
{
    return no_mappings ? (void *)-1 : (void *)syscall(SYS_mmap, at, bytes, protection, how, fd, offset);
}

static size_t all_bytes(void)
{
    return hz3_gauge(HZ3_GAUGE_USED) + hz3_gauge(HZ3_GAUGE_DIRTY) + hz3_gauge(HZ3_GAUGE_CLEAN) +
           hz3_gauge(HZ3_GAUGE_UNMAPPED);
}

/* The first test: its first span is at the start of the window. */
static void whole_huge_pages_go(void **state)
{
    (void)state;
    hz3_os.counts_mapped = false; /* on every machine, as is that nothing has to be asked for */
    hz3_os.huge_page_asked = 0;
    size_t huge_page = hz3_os.huge_page;
    hz3_os.huge_page = HZ3_MIB(2);
    hz3_pages_free(hz3_pages_alloc(4, 1, HZ3_SPAN_LARGE));
    assert_int_equal(hz3_pages_purge(0, 0, false), 0);
    assert_false(hz3_pages_refused());
    hz3_pages_free(hz3_pages_alloc(96, 1, HZ3_SPAN_LARGE));
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
    struct hz3_span *right = hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE); /* the best fit: what was cut off */
    if (right->start == start + hz3_span_bytes(span)) assert_false(hz3_pages_grow(span, 10, false));
    hz3_pages_free(right);
    hz3_pages_free(span);
}

/* What `to` has beyond the moved pages stays: zero where it is new, and else as it was. */
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
    assert_int_equal(*(const unsigned char *)old, 0); /* mapped again */
    hz3_pages_free(to);
}

static void pages_move(void **state)
{
    (void)state;
    pages_move_to(true);
    hz3_pages_free(hz3_pages_alloc(16, 1, HZ3_SPAN_LARGE)); /* dirty now */
    pages_move_to(false);
}

enum { MANY = 2000 }; /* more granules than are free in one place */

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

/* Whether the system was told of this page what `flag` of its file says: "nh": no huge ones are wanted, "hg": they are.
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

/* Moves a span, or tries to; returns the place that was left without pages. */
static uintptr_t move(bool works)
{
    struct hz3_span *from = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE), *to = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE);
    uintptr_t left = works ? from->start : to->start;
    moves_fail = !works;
    assert_int_equal(hz3_pages_move(to, from), works);
    return left;
}

/* Those of state bytes, of which no huge page is made, are not. */
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

/* What is clean goes once more, as if nothing had been, and what is dirty stays; the system is told once, and of what
 * is mapped again. */
static void broken_huge_pages_stay_so(void **state)
{
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) skip();
    struct hz3_span *clean = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE), *between = hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE);
    struct hz3_span *young = hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE), *last = hz3_pages_alloc(1, 1, HZ3_SPAN_LARGE);
    uintptr_t start = clean->start;
    hz3_pages_discard(clean, true);
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
    assert_true(is_advised(move(true)));
    hz3_pages_free(between);
    hz3_pages_free(last);
    for (uint32_t i = 0; i < hz3_get(hz3_window_count); i++) hz3_set(hz3_windows[i].broken, 0);
}

enum { UNIT = 32 }; /* granules of a huge page of 2 MiB */

/* A small window has no room for further huge pages by now. */
static size_t set_up_asking(size_t small, size_t growing)
{
    if (hz3_windows[0].bytes < HZ3_MIB(1024)) skip();
    size_t asked = hz3_os.huge_page_asked;
    hz3_os.huge_page_asked = (size_t)UNIT << HZ3_GRANULE_SHIFT;
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
    struct hz3_span *reserve = NULL, *runs[UNIT];
    for (int i = 0; i < UNIT; i++) {
        runs[i] = hz3_pages_alloc_run(1, &reserve);
        assert_int_equal(runs[i]->granules, 1);
        assert_int_equal(runs[i]->start, runs[0]->start + (size_t)i * HZ3_GRANULE);
        assert_true(reserve || i == UNIT - 1);
        assert_int_equal(hz3_gauge(HZ3_GAUGE_USED) - used, HZ3_MIB(2));
    }
    assert_int_equal(runs[0]->start % HZ3_MIB(2), 0);
    assert_null(reserve);
    /* What is clean comes before what was never mapped, for which the system is asked. */
    bool asks = !access("/sys/kernel/mm/transparent_hugepage", F_OK);
    uintptr_t frontier = hz3_windows[0].base + ((uintptr_t)hz3_windows[0].frontier << HZ3_GRANULE_SHIFT);
    while (runs[0]->start < frontier)
        for (int i = 0; i < UNIT; i++) runs[i] = hz3_pages_alloc_run(1, &reserve);
    assert_int_equal(has_flag(runs[0]->start, " hg"), asks);
    assert_int_equal(has_flag(runs[UNIT - 1]->start, " hg"), asks);
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
    assert_int_equal(reserve->granules, UNIT - 1);
    /* What is left goes back, and is dirty: the rest of the huge page is there. */
    size_t dirty = hz3_gauge(HZ3_GAUGE_DIRTY);
    hz3_pages_free(reserve);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_DIRTY) - dirty, (UNIT - 1) * HZ3_GRANULE);
    clean_up_asking(asked);
}

/* What was asked for, and has gone back, serves large blocks in small pages; and the next reserve asks again. */
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
    struct hz3_span *block = hz3_pages_alloc(UNIT, UNIT, HZ3_SPAN_LARGE);
    while (block->start != start) block = hz3_pages_alloc(UNIT, UNIT, HZ3_SPAN_LARGE);
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
    assert_non_null(hz3_pages_alloc_run(2, &reserve)); /* of larger objects, which may be touched in part */
    assert_null(reserve);
    /* Others' reserves are not in use either: an eighth of 64 MiB is four of them. */
    struct hz3_span *others[5] = {NULL};
    for (int i = 0; i < 5; i++) assert_non_null(hz3_pages_alloc_run(1, &others[i]));
    assert_non_null(others[3]);
    assert_null(others[4]);
    for (int i = 0; i < 4; i++) hz3_pages_free(others[i]);
    clean_up_asking(asked);
}

/* The last but one: the pool stays told of locked memory. */
static void what_is_mapped_again_is_advised_again(void **state)
{
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) skip();
    hz3_huge_pages_never = true;
    assert_true(is_advised(move(true)));
    assert_true(is_advised(move(false)));
    hz3_pages_locked();
    uintptr_t hole = move(true);
    assert_int_equal(hz3_pages_alloc(MANY, 1, HZ3_SPAN_LARGE)->start, hole);
    assert_false(is_advised(hole)); /* it would be a mapping apart */
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

RUN(cmocka_unit_test(whole_huge_pages_go), cmocka_unit_test(spans_are_aligned_and_apart),
    cmocka_unit_test(aligned_spans_are_used_again), cmocka_unit_test(neighbours_merge),
    cmocka_unit_test(purged_pages_read_as_zero_and_dirty_ones_do_not_claim_to), cmocka_unit_test(young_spans_are_kept),
    cmocka_unit_test(resizing_in_place), cmocka_unit_test(pages_move),
    cmocka_unit_test(what_counts_as_mapped_is_unmapped), cmocka_unit_test(a_target_that_stayed_is_clean),
    cmocka_unit_test(parts_of_huge_pages_are_counted), cmocka_unit_test(broken_huge_pages_stay_so),
    cmocka_unit_test(full_runs_get_a_huge_page_for_more), cmocka_unit_test(what_is_dirty_is_used_before_a_huge_page),
    cmocka_unit_test(what_was_asked_for_is_for_reserves), cmocka_unit_test(above_the_soft_limit_there_are_no_reserves),
    cmocka_unit_test(runs_that_may_stay_half_empty_get_none), cmocka_unit_test(what_is_mapped_again_is_advised_again),
    cmocka_unit_test(locked_memory_is_not_of_huge_pages))
