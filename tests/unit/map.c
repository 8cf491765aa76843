/* The map: new granules are contiguous and have no owner, addresses in use are skipped, far windows are found, a window
 * ends where one of its tables cannot grow, tables have guards, and the most windows allowed can be opened. */
#include "unit.h"

#include "back/arena.h"
#include "back/pages.h"
#include "os/os.h"
#include "support.h"

#include <sys/mman.h>
#include <sys/resource.h>

static void extension_is_contiguous_and_nobodys(void **state)
{
    (void)state;
    struct hz3_window *window = &hz3_windows[0];
    int64_t first = hz3_arena_extend(window, 3), second = hz3_arena_extend(window, 2);
    assert_true(first >= 0);
    assert_int_equal(second, first + 3);
    char *p = (char *)window->base + ((uintptr_t)first << HZ3_GRANULE_SHIFT);
    for (size_t i = 0; i < 5 * (size_t)HZ3_GRANULE; i += 4096) assert_int_equal(p[i], 0);
    memset(p, 1, 5 * (size_t)HZ3_GRANULE);
    assert_ptr_equal(hz3_window_of(p), window);
    assert_int_equal(hz3_class_at(p), HZ3_CLASS_NONE);
}

/* Maps a page that is not hz3's. */
static char *put_page(uintptr_t at)
{
    char *theirs = mmap((void *)at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    assert_ptr_equal(theirs, at);
    theirs[7] = 42;
    return theirs;
}

static void taken_places_are_skipped(void **state)
{
    (void)state;
    struct hz3_window *window = &hz3_windows[0];
    char *theirs = put_page(window->base + ((uintptr_t)window->frontier << HZ3_GRANULE_SHIFT));
    int64_t first = hz3_arena_extend(window, 1);
    assert_true(first >= 0);
    assert_true((char *)window->base + ((uintptr_t)first << HZ3_GRANULE_SHIFT) > theirs);
    assert_int_equal(theirs[7], 42);
    assert_int_equal(hz3_class_at(theirs), HZ3_CLASS_NONE);
}

static void extend_in_vain(void *window)
{
    struct rlimit none = {0, 0};
    CHECK(setrlimit(RLIMIT_DATA, &none) == 0);
    CHECK(hz3_arena_extend(window, 1) == HZ3_ARENA_REFUSED);
}

/* The tags of the taken granule lie in a page that is not mapped yet, and now cannot be. */
static void what_cannot_be_tagged_as_taken_is_a_refusal(void **state)
{
    (void)state;
    struct hz3_window *window = &hz3_windows[0];
    size_t tags = hz3_os.page / sizeof(struct hz3_tag), granules = tags - (window->frontier + 8) % tags;
    if (window->frontier + granules + tags > window->bytes / HZ3_GRANULE) skip();
    assert_true(hz3_arena_extend(window, granules) >= 0);
    put_page(window->base + ((uintptr_t)window->frontier << HZ3_GRANULE_SHIFT));
    expect_success(in_child(extend_in_vain, window), 10);
}

static void far_windows_are_found(void **state)
{
    (void)state;
    struct hz3_window *far = hz3_arena_open_window(HZ3_GRANULE);
    assert_non_null(far);
    assert_ptr_not_equal(far, &hz3_windows[0]);
    int64_t first = hz3_arena_extend(far, 1);
    assert_true(first >= 0);
    char *p = (char *)far->base + ((uintptr_t)first << HZ3_GRANULE_SHIFT);
    *p = 1;
    assert_ptr_equal(hz3_window_of(p), far);
}

/* A multiple of 2 MiB is one of every page size too, and the state bytes start at a multiple of 64 KiB. */
static void windows_start_at_whole_huge_pages(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < hz3_get(hz3_window_count); i++) {
        assert_int_equal(hz3_windows[i].base % HZ3_MIB(2), 0);
        for (unsigned table = 0; table < hz3_state_tables; table++)
            assert_int_equal((uintptr_t)hz3_state_at(hz3_windows[i].base, hz3_state_table_shift(table)) % HZ3_KIB(64),
                             0);
    }
}

static bool is_mapped(uintptr_t at)
{
    unsigned char resident;
    return mincore((void *)(at & ~(hz3_os.page - 1)), 1, &resident) == 0;
}

/* In lane secure an unmapped granule lies before each table of a window, and before its memory. */
static void tables_have_guards(void **state)
{
    (void)state;
    if (!HZ3_SECURE) skip();
    const struct hz3_window *window = &hz3_windows[0];
    uintptr_t tables[] = {(uintptr_t)window->spans, (uintptr_t)window->free, (uintptr_t)window->tags};
    for (unsigned i = 0; i < 3; i++) {
        assert_true(is_mapped(tables[i]));
        assert_false(is_mapped(tables[i] - 1));
        assert_false(is_mapped(tables[i] - HZ3_GRANULE));
    }
    assert_true((uintptr_t)window->free >= (uintptr_t)(window->spans + window->bytes / HZ3_GRANULE) + HZ3_GRANULE);
    assert_true((uintptr_t)window->tags >= (uintptr_t)(window->free + window->bytes / HZ3_GRANULE) + HZ3_GRANULE);
    assert_false(is_mapped(window->base));
}

static void nothing_is_at_strange_addresses(void **state)
{
    (void)state;
    int local;
    assert_null(hz3_window_or_none(NULL));
    assert_null(hz3_window_or_none(&local));
    assert_null(hz3_window_or_none((void *)UINTPTR_MAX));
    char *beyond = (char *)hz3_windows[0].base + hz3_windows[0].bytes - 1;
    assert_int_equal(hz3_class_at(beyond), HZ3_CLASS_NONE);
}

static struct hz3_window *another_window(void)
{
    struct hz3_window *window = hz3_arena_open_window(HZ3_GRANULE);
    assert_non_null(window);
    assert_true(hz3_arena_extend(window, 1) >= 0);
    return window;
}

static void ends_before(struct hz3_window *window, uintptr_t table, size_t used)
{
    char *theirs = put_page(hz3_round_up(table + used + 1, HZ3_KIB(64))); /* at least one entry more fits */
    char *last = NULL;
    int64_t granule;
    while ((granule = hz3_arena_extend(window, 1)) >= 0) {
        last = (char *)window->base + (granule << HZ3_GRANULE_SHIFT);
        *last = 1;
    }
    assert_int_equal(granule, HZ3_ARENA_FULL);
    assert_true(hz3_map_was_used(last));
    assert_false(hz3_map_was_used(last + HZ3_GRANULE));
    assert_false(hz3_map_was_used((char *)window->base + window->bytes - 1));
    assert_int_equal(theirs[7], 42);
    struct hz3_span *elsewhere = hz3_pages_alloc(64, 1, HZ3_SPAN_LARGE); /* more than the pool has */
    assert_non_null(elsewhere);
    assert_ptr_not_equal(hz3_window_of((void *)elsewhere->start), window);
}

static void a_window_ends_where_a_table_cannot_grow(void **state)
{
    (void)state;
    struct hz3_window *window = another_window();
    ends_before(window, (uintptr_t)window->spans, window->spans_mapped * sizeof(struct hz3_span));
    window = another_window();
    ends_before(window, (uintptr_t)window->free, window->free_mapped * sizeof *window->free);
}

/* They do not overlap: what was written through one is still there at the end. */
static void all_windows_can_be_opened(void **state)
{
    (void)state;
    uint32_t first = hz3_get(hz3_window_count), *written[HZ3_WINDOWS_MAX];
    for (uint32_t i = first; i < HZ3_WINDOWS_MAX; i++) {
        struct hz3_window *window = another_window();
        written[i] = (uint32_t *)(window->base + ((window->frontier - (uintptr_t)1) << HZ3_GRANULE_SHIFT));
        *written[i] = i;
    }
    assert_null(hz3_arena_open_window(HZ3_GRANULE));
    for (uint32_t i = first; i < HZ3_WINDOWS_MAX; i++) assert_int_equal(*written[i], i);
}

RUN(cmocka_unit_test(extension_is_contiguous_and_nobodys), cmocka_unit_test(taken_places_are_skipped),
    cmocka_unit_test(what_cannot_be_tagged_as_taken_is_a_refusal), cmocka_unit_test(far_windows_are_found),
    cmocka_unit_test(windows_start_at_whole_huge_pages), cmocka_unit_test(tables_have_guards),
    cmocka_unit_test(nothing_is_at_strange_addresses), cmocka_unit_test(a_window_ends_where_a_table_cannot_grow),
    cmocka_unit_test(all_windows_can_be_opened))
