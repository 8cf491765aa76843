/* Large blocks are aligned, zeroed on request, page-granular, and resized without loss.  Pointers near one are
 * distinguished from pointers to one. */
#include "unit.h"

#include "back/large.h"
#include "back/large_cache.h"
#include "back/limits.h"
#include "os/os.h"

static void usable_is_the_size_in_whole_pages(void **state)
{
    (void)state;
    size_t sizes[] = {1, 65537, HZ3_MIB(1), HZ3_MIB(1) + 1, HZ3_MIB(3) - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t before = hz3_get(hz3_large_bytes);
        char *p = hz3_large_alloc(sizes[i], 1);
        size_t usable = hz3_large_usable(p);
        assert_int_equal(usable, (sizes[i] + hz3_os.page - 1) / hz3_os.page * hz3_os.page);
        assert_int_equal(hz3_get(hz3_large_bytes), before + usable);
        memset(p, 1, usable);
        assert_int_equal((uintptr_t)p % HZ3_GRANULE, 0);
        hz3_large_free(p);
        assert_int_equal(hz3_get(hz3_large_bytes), before);
    }
}

static void every_alignment_is_kept(void **state)
{
    (void)state;
    for (size_t alignment = 1; alignment <= HZ3_MIB(64); alignment *= 2) {
        char *p = hz3_large_alloc(70000, alignment);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % alignment, 0);
        hz3_large_free(p);
    }
    hz3_large_cache_trim(0, true);
}

static void assert_is_zero(const char *p, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (p[i]) fail_msg("byte %zu of %zu is %d", i, size, p[i]);
}

/* Small blocks are cleared by memset, larger ones get new pages. */
static void zeroed_blocks_are_zero_where_others_wrote(void **state)
{
    (void)state;
    size_t dirty_max = hz3_get(hz3_pages_dirty_max);
    hz3_set(hz3_pages_dirty_max, HZ3_MIB(4));
    size_t sizes[] = {70000, HZ3_MIB(2), HZ3_MIB(8) + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *p = hz3_large_alloc(sizes[i], 1);
        memset(p, 0xff, hz3_large_usable(p));
        hz3_large_free(p);
        p = hz3_large_alloc(sizes[i], 1);
        hz3_large_zero(p, sizes[i]);
        assert_is_zero(p, sizes[i]);
        hz3_large_free(p);
        hz3_large_cache_trim(0, true);
    }
    hz3_set(hz3_pages_dirty_max, dirty_max);
}

static void what_is_too_large_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    size_t before = hz3_get(hz3_large_bytes);
    assert_null(hz3_large_alloc(PTRDIFF_MAX, 1));
    assert_null(hz3_large_alloc(HZ3_MIB(1), (size_t)1 << 62));
    char *p = hz3_large_alloc(HZ3_MIB(1), 1);
    hz3_large_zero(p, HZ3_MIB(1));
    assert_null(hz3_large_realloc(p, PTRDIFF_MAX));
    assert_is_zero(p, HZ3_MIB(1));
    assert_int_equal(hz3_large_usable(p), HZ3_MIB(1));
    hz3_large_free(p);
    assert_int_equal(hz3_get(hz3_large_bytes), before);
}

static void fill(char *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i += 509) p[i] = (char)(i % 127);
}

static void assert_filled(const char *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i += 509) assert_int_equal(p[i], i % 127);
}

static void resizing_keeps_what_is_in_both(void **state)
{
    (void)state;
    size_t sizes[] = {70000, 300000, HZ3_MIB(2), HZ3_MIB(40), HZ3_MIB(3), 70000, HZ3_MIB(1) + 1};
    size_t before = hz3_get(hz3_large_bytes), n = sizeof sizes / sizeof *sizes;
    char *p = hz3_large_alloc(sizes[0], 1);
    fill(p, 0, sizes[0]);
    for (size_t i = 1; i < n; i++) {
        char *in_the_way = hz3_large_alloc(HZ3_GRANULE, 1);
        char *new = hz3_large_realloc(p, sizes[i]);
        if (!new) { /* p is unchanged, and the caller has to copy */
            assert_filled(p, 0, sizes[i - 1]);
            assert_non_null(new = hz3_large_alloc(sizes[i], 1));
            memcpy(new, p, hz3_min(sizes[i - 1], sizes[i]));
            hz3_large_free(p);
        }
        p = new;
        assert_filled(p, 0, hz3_min(sizes[i - 1], sizes[i]));
        assert_true(hz3_large_usable(p) >= sizes[i] && hz3_large_usable(p) < sizes[i] + hz3_os.page);
        assert_int_equal(hz3_get(hz3_large_bytes), before + hz3_large_usable(p) + hz3_large_usable(in_the_way));
        fill(p, 0, sizes[i]);
        hz3_large_free(in_the_way);
    }
    hz3_large_free(p);
    assert_int_equal(hz3_get(hz3_large_bytes), before);
}

static void a_smaller_block_stays_where_it_is_and_gives_the_rest_back(void **state)
{
    (void)state;
    hz3_large_cache_trim(0, true);
    char *p = hz3_large_alloc(HZ3_MIB(4), 1);
    assert_ptr_equal(hz3_large_realloc(p, HZ3_MIB(1)), p);
    assert_int_equal(hz3_large_usable(p), HZ3_MIB(1));
    assert_false(hz3_large_covers(p + HZ3_MIB(2)));
    hz3_large_free(p);
}

static void what_is_said_of_a_pointer(void **state)
{
    (void)state;
    char *p = hz3_large_alloc(HZ3_MIB(1), 1);
    assert_int_equal(hz3_class_at(p), HZ3_CLASS_LARGE);
    assert_true(hz3_large_is_block(p) && hz3_large_is_live(p));
    assert_false(hz3_large_is_block(p + 16));
    assert_int_equal(hz3_class_at(p + HZ3_MIB(1) / 2), HZ3_CLASS_NONE);
    assert_true(hz3_large_covers(p + HZ3_MIB(1) / 2) && hz3_large_covers(p + HZ3_MIB(1) - 1));
    hz3_large_free(p);
    assert_false(hz3_large_is_live(p) || hz3_large_covers(p + HZ3_MIB(1) / 2));
}

RUN(cmocka_unit_test(usable_is_the_size_in_whole_pages), cmocka_unit_test(every_alignment_is_kept),
    cmocka_unit_test(zeroed_blocks_are_zero_where_others_wrote),
    cmocka_unit_test(what_is_too_large_is_refused_and_changes_nothing),
    cmocka_unit_test(resizing_keeps_what_is_in_both),
    cmocka_unit_test(a_smaller_block_stays_where_it_is_and_gives_the_rest_back),
    cmocka_unit_test(what_is_said_of_a_pointer))
