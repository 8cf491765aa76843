/* Proves that realloc keeps the content as sizes grow and shrink: over every class boundary, at random, and for blocks
 * so large that the kernel moves their pages. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

enum { LARGEST = 70000 };

/* The block always holds the first bytes of this, so that growing and shrinking are compared in the same way. */
static unsigned char reference[3 * LARGEST];

static int make_reference(void **state)
{
    (void)state;
    fill(reference, sizeof(reference), 7);
    return 0;
}

static unsigned char *resize(unsigned char *p, size_t old_size, size_t size)
{
    p = realloc(p, size);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % least_alignment(size), 0);
    assert_true(malloc_usable_size(p) >= size);
    assert_memory_equal(p, reference, old_size < size ? old_size : size);
    if (size > old_size) memcpy(p + old_size, reference + old_size, size - old_size);
    return p;
}

static void up_and_down_by_steps(size_t step)
{
    unsigned char *p = NULL;
    size_t size = 0;
    for (; size + step <= LARGEST; size += step) p = resize(p, size, size + step);
    for (; size > step; size -= step) p = resize(p, size, size - step);
    free(p);
}

static void over_every_boundary_up_and_down(void **state)
{
    (void)state;
    up_and_down_by_steps(16);
    up_and_down_by_steps(17);
    up_and_down_by_steps(1021);
}

static void by_one_byte_among_the_small(void **state)
{
    (void)state;
    unsigned char *p = NULL;
    for (size_t size = 0; size < 2100; size++) p = resize(p, size, size + 1);
    free(p);
}

static void at_random_among_others(void **state)
{
    (void)state;
    unsigned char *p[50] = {0};
    size_t size[50] = {0};
    uint64_t seed = 2;
    for (int i = 0; i < 30000; i++) {
        size_t which = next_random(&seed) % COUNT_OF(p);
        size_t most = (size_t)16 << next_random(&seed) % 14;
        size_t wanted = 1 + next_random(&seed) % (most < sizeof(reference) ? most : sizeof(reference));
        p[which] = resize(p[which], size[which], wanted);
        size[which] = wanted;
    }
    for (size_t i = 0; i < COUNT_OF(p); i++) free(p[i]);
}

static void stamp_pages(char *p, size_t from, size_t to)
{
    for (size_t at = from; at < to; at += KIB(4)) memcpy(p + at, &at, sizeof(at));
}

static void check_pages(const char *p, size_t size)
{
    for (size_t at = 0; at < size; at += KIB(4)) assert_memory_equal(p + at, &at, sizeof(at));
}

/* Two blocks grow alternately, so that each has the other behind it and has to move. */
static void huge_blocks_in_steps(void **state)
{
    (void)state;
    char *p[2] = {NULL, NULL};
    for (size_t size = MIB(1); size <= MIB(64); size += MIB(1))
        for (size_t i = 0; i < 2; i++) {
            p[i] = realloc(p[i], size);
            assert_non_null(p[i]);
            check_pages(p[i], size - MIB(1));
            stamp_pages(p[i], size - MIB(1), size);
            p[i][size - 1] = 1;
        }
    for (size_t size = MIB(60); size > 0; size -= MIB(4))
        for (size_t i = 0; i < 2; i++) {
            p[i] = realloc(p[i], size);
            assert_non_null(p[i]);
            check_pages(p[i], size);
        }
    for (size_t i = 0; i < 2; i++) {
        p[i] = realloc(p[i], 100);
        assert_non_null(p[i]);
        check_pages(p[i], 100);
        free(p[i]);
    }
}

/* 13 GiB in all, so the test fails unless realloc(p, 0) frees. */
static void to_no_bytes_frees(void **state)
{
    (void)state;
    size_t before = resident_bytes();
    for (int i = 0; i < 100000; i++) {
        size_t size = i % 100 ? KIB(64) : MIB(7);
        char *p = malloc(size);
        assert_non_null(p);
        stamp_pages(p, 0, size);
        assert_null(realloc(p, 0));
    }
    assert_true(resident_bytes() < before + MIB(64));
}

/* Sizes beyond the address space, which would be small if their upper bits were cut off.  This test comes first, while
 * the memory behind a new block is still unused. */
static void what_nobody_has_is_refused(void **state)
{
    (void)state;
    static const size_t sizes[] = {100, 100000, MIB(512)};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        void *p = malloc(sizes[i]);
        assert_non_null(p);
        for (unsigned bits = 47; bits < 63; bits++) {
            errno = 0;
            assert_null(realloc(p, ((size_t)1 << bits) + sizes[i] + MIB(1)));
            assert_int_equal(errno, ENOMEM);
        }
        assert_true(malloc_usable_size(p) >= sizes[i]);
        free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_has_is_refused),  cmocka_unit_test(over_every_boundary_up_and_down),
        cmocka_unit_test(by_one_byte_among_the_small), cmocka_unit_test(at_random_among_others),
        cmocka_unit_test(huge_blocks_in_steps),        cmocka_unit_test(to_no_bytes_frees),
    };
    return cmocka_run_group_tests(tests, make_reference, NULL);
}
