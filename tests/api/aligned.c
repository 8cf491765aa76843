/* Proves that every aligned function returns what was asked for: any power of two, and odd sizes.  Other alignments are
 * rounded up as glibc does, and only posix_memalign returns EINVAL. */
#include <errno.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

static void *by_posix_memalign(size_t alignment, size_t size)
{
    void *p = NULL;
    assert_int_equal(posix_memalign(&p, alignment < sizeof(void *) ? sizeof(void *) : alignment, size), 0);
    return p;
}

static void *(*const ask[])(size_t alignment, size_t size) = {aligned_alloc, memalign, by_posix_memalign};
static const size_t sizes[] = {0, 1, 7, 17, 24, 100, 1000, 4095, 4097, 30000, 65536, 65537, 99999, MIB(1) + 1};

static void all_powers_of_two_with_odd_sizes(void **state)
{
    (void)state;
    for (size_t alignment = 1; alignment <= MIB(8); alignment *= 2) {
        void *p[COUNT_OF(ask)][COUNT_OF(sizes)];
        for (size_t a = 0; a < COUNT_OF(ask); a++)
            for (size_t s = 0; s < COUNT_OF(sizes); s++) {
                p[a][s] = ask[a](alignment, sizes[s]);
                assert_non_null(p[a][s]);
                assert_int_equal((uintptr_t)p[a][s] % alignment, 0);
                assert_int_equal((uintptr_t)p[a][s] % least_alignment(sizes[s]), 0);
                assert_true(malloc_usable_size(p[a][s]) >= sizes[s]);
                fill(p[a][s], malloc_usable_size(p[a][s]), (uintptr_t)p[a][s]);
            }
        for (size_t a = 0; a < COUNT_OF(ask); a++)
            for (size_t s = 0; s < COUNT_OF(sizes); s++) {
                assert_true(is_filled(p[a][s], malloc_usable_size(p[a][s]), (uintptr_t)p[a][s]));
                free(p[a][s]);
            }
    }
}

static void many_blocks_of_one_alignment(void **state)
{
    (void)state;
    for (size_t alignment = 32; alignment <= KIB(64); alignment *= 2) {
        void *p[200];
        for (size_t i = 0; i < COUNT_OF(p); i++) {
            p[i] = ask[i % COUNT_OF(ask)](alignment, 40 + i);
            assert_non_null(p[i]);
            assert_int_equal((uintptr_t)p[i] % alignment, 0);
            fill(p[i], 40 + i, i);
        }
        for (size_t i = 0; i < COUNT_OF(p); i++) {
            assert_true(is_filled(p[i], 40 + i, i));
            free(p[i]);
        }
    }
}

static void other_alignments_are_rounded_up(void **state)
{
    (void)state;
    static const struct {
        size_t asked, given;
    } rounded[] = {{0, 16},          {3, 16},
                   {5, 16},          {17, 32},
                   {24, 32},         {48, 64},
                   {100, 128},       {1000, 1024},
                   {4097, 8192},     {5000, 8192},
                   {65535, 65536},   {65537, 131072},
                   {100000, 131072}, {MIB(1) - 1, MIB(1)}};
    bool refuses = strverscmp(gnu_get_libc_version(), "2.38") >= 0;
    for (size_t i = 0; i < COUNT_OF(rounded); i++)
        for (size_t a = 0; a < 2; a++) {
            errno = 0;
            void *p = ask[a](rounded[i].asked, 333);
            bool refused = refuses && ask[a] == aligned_alloc;
            assert_int_equal(!p, refused);
            assert_int_equal(errno, refused ? EINVAL : 0);
            assert_int_equal((uintptr_t)p % rounded[i].given, 0);
            free(p);
        }
}

static void posix_memalign_refuses_with_EINVAL(void **state)
{
    (void)state;
    static const size_t bad[] = {0, 1, 3, sizeof(void *) / 2, sizeof(void *) + 1, 12, 24, 4095, SIZE_MAX};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        void *out = &out;
        errno = 4321;
        assert_int_equal(posix_memalign(&out, bad[i], 64), EINVAL);
        assert_ptr_equal(out, &out);
        assert_int_equal(errno, 4321);
    }
}

static void valloc_and_pvalloc_give_pages(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        void *v = valloc(sizes[s]), *w = pvalloc(sizes[s]);
        assert_non_null(v);
        assert_non_null(w);
        assert_int_equal((uintptr_t)v % page, 0);
        assert_int_equal((uintptr_t)w % page, 0);
        size_t whole_pages = (sizes[s] + page - 1) / page * page;
        assert_true(malloc_usable_size(w) >= whole_pages);
        fill(v, sizes[s], 1);
        fill(w, whole_pages, 2);
        assert_true(is_filled(v, sizes[s], 1) && is_filled(w, whole_pages, 2));
        free(v);
        free(w);
    }
}

static void an_aligned_block_can_be_resized(void **state)
{
    (void)state;
    for (size_t alignment = 16; alignment <= MIB(1); alignment *= 4)
        for (size_t s = 1; s < COUNT_OF(sizes); s++) {
            char *p = aligned_alloc(alignment, sizes[s]);
            assert_non_null(p);
            fill(p, sizes[s], s);
            p = realloc(p, 3 * sizes[s]);
            assert_non_null(p);
            assert_true(is_filled(p, sizes[s], s));
            fill(p, 3 * sizes[s], s);
            p = realloc(p, sizes[s] / 2 + 1);
            assert_non_null(p);
            assert_true(is_filled(p, sizes[s] / 2, s));
            free(p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_powers_of_two_with_odd_sizes), cmocka_unit_test(many_blocks_of_one_alignment),
        cmocka_unit_test(other_alignments_are_rounded_up),  cmocka_unit_test(posix_memalign_refuses_with_EINVAL),
        cmocka_unit_test(valloc_and_pvalloc_give_pages),    cmocka_unit_test(an_aligned_block_can_be_resized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
