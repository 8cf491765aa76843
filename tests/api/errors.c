/* Proves that every function returns NULL with ENOMEM if there is no memory, and leaves the old block intact.  Success
 * and free leave errno alone. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static void *by_calloc_of_one(size_t size)
{
    return calloc(1, size);
}
static void *by_calloc_of_many(size_t size)
{
    return calloc(size, 1);
}
static void *by_realloc_of_none(size_t size)
{
    return realloc(NULL, size);
}
static void *by_reallocarray_of_none(size_t size)
{
    return reallocarray(NULL, size, 1);
}
static void *by_memalign(size_t size)
{
    return memalign(16, size);
}
static void *by_memalign_of_a_page(size_t size)
{
    return memalign(4096, size);
}
static void *by_aligned_alloc(size_t size)
{
    return aligned_alloc(KIB(128), size);
}

static void *by_posix_memalign(size_t size)
{
    void *untouched = &untouched, *out = untouched;
    int error = posix_memalign(&out, 64, size);
    if (error == 0) return out;
    assert_ptr_equal(out, untouched);
    if (ANY_MALLOC) errno = error; /* POSIX leaves open whether errno is set */
    assert_int_equal(error, errno);
    return NULL;
}

/* After a failed realloc the old block must still be intact, and can be freed. */
static void *resized(void *(*again)(void *, size_t), size_t old_size, size_t size)
{
    void *old = malloc(old_size);
    assert_non_null(old);
    fill(old, old_size, size);
    void *p = again(old, size);
    if (p != NULL) return p;
    int error = errno;
    assert_true(is_filled(old, old_size, size));
    free(old);
    errno = error;
    return NULL;
}

static void *half_reallocarray(void *p, size_t size)
{
    return reallocarray(p, 2, size / 2 + 1);
}
static void *by_realloc_of_small(size_t size)
{
    return resized(realloc, 100, size);
}
static void *by_realloc_of_large(size_t size)
{
    return resized(realloc, MIB(1), size);
}
static void *by_reallocarray(size_t size)
{
    return resized(half_reallocarray, 5000, size);
}

static void *(*const ask[])(size_t) = {
    malloc,           by_calloc_of_one,  by_calloc_of_many,   by_realloc_of_none,  by_reallocarray_of_none,
    by_aligned_alloc, by_posix_memalign, by_realloc_of_small, by_realloc_of_large, by_reallocarray,
};
static void *(*const ask_by_older_names[])(size_t) = {by_memalign, by_memalign_of_a_page, valloc, pvalloc};

static void sizes_beyond_PTRDIFF_MAX_are_refused(void *(*const names[])(size_t), size_t count)
{
    static const size_t sizes[] = {
        PTRDIFF_MAX - 4096,  PTRDIFF_MAX,     (size_t)PTRDIFF_MAX + 1, (size_t)PTRDIFF_MAX + 4096,
        SIZE_MAX - KIB(128), SIZE_MAX - 8192, SIZE_MAX - 4096,         SIZE_MAX - 15,
        SIZE_MAX - 1,        SIZE_MAX};
    for (size_t n = 0; n < count; n++)
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            errno = 0;
            assert_null(names[n](sizes[s]));
            assert_int_equal(errno, ENOMEM);
        }
}

static void sizes_beyond_PTRDIFF_MAX_are_ENOMEM(void **state)
{
    (void)state;
    sizes_beyond_PTRDIFF_MAX_are_refused(ask, COUNT_OF(ask));
}

static void by_older_names_too(void **state)
{
    (void)state;
    sizes_beyond_PTRDIFF_MAX_are_refused(ask_by_older_names, COUNT_OF(ask_by_older_names));
}

static void products_that_overflow_are_ENOMEM(void **state)
{
    (void)state;
    static const size_t factors[][2] = {
        {SIZE_MAX, 2},
        {2, SIZE_MAX},
        {SIZE_MAX / 2 + 1, 2},
        {(size_t)1 << 32, (size_t)1 << 32},
        {((size_t)1 << 32) + 1, ((size_t)1 << 32) - 1}, /* just below 2^64: too large, without overflow */
        {SIZE_MAX / 16 + 2, 16},                        /* wraps to 16 */
        {SIZE_MAX, SIZE_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(factors); i++) {
        size_t count = factors[i][0], size = factors[i][1];
        errno = 0;
        assert_null(calloc(count, size));
        assert_int_equal(errno, ENOMEM);
        errno = 0;
        assert_null(reallocarray(NULL, count, size));
        assert_int_equal(errno, ENOMEM);
        void *p = malloc(77);
        assert_non_null(p);
        fill(p, 77, i);
        errno = 0;
        assert_null(reallocarray(forget(p), count, size));
        assert_int_equal(errno, ENOMEM);
        assert_true(is_filled(p, 77, i));
        free(p);
    }
}

static void alignments_that_cannot_be_had_are_refused(void **state)
{
    (void)state;
    static const size_t alignments[] = {(size_t)1 << 62, (size_t)1 << 63};
    for (size_t i = 0; i < COUNT_OF(alignments); i++) {
        void *out = &out;
        assert_int_equal(posix_memalign(&out, alignments[i], 8), ENOMEM);
        assert_ptr_equal(out, &out);
        errno = 0;
        assert_null(aligned_alloc(alignments[i], 8));
        assert_true(errno == ENOMEM || errno == EINVAL); /* glibc: EINVAL above SIZE_MAX / 2 */
        errno = 0;
        assert_null(memalign(alignments[i], SIZE_MAX - alignments[i] + 2));
        assert_true(errno == ENOMEM || errno == EINVAL);
    }
    volatile size_t no_power_of_two = SIZE_MAX; /* the compiler refuses a constant */
    errno = 0;
    assert_null(aligned_alloc(no_power_of_two, 8));
    assert_true(errno == ENOMEM || errno == EINVAL);
}

static void success_and_free_leave_errno_alone(void **state)
{
    (void)state;
    for (size_t size = 1; size <= MIB(64); size += size / 3 + 1) {
        errno = 4321;
        void *p = malloc(size), *q = calloc(1, size), *r = memalign(256, size);
        assert_true(p && q && r);
        *(char *)p = *(char *)r = 1;
        p = realloc(p, 2 * size);
        q = realloc(q, size / 2 + 1);
        assert_true(p && q);
        assert_true(malloc_usable_size(r) >= size);
        assert_int_equal(errno, 4321);
        free(p);
        free(q);
        free(r);
        free(NULL);
        assert_int_equal(errno, 4321);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_beyond_PTRDIFF_MAX_are_ENOMEM),
        cmocka_unit_test(by_older_names_too),
        cmocka_unit_test(products_that_overflow_are_ENOMEM),
        cmocka_unit_test(alignments_that_cannot_be_had_are_refused),
        cmocka_unit_test(success_and_free_leave_errno_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
