/* Proves that every function that frees does free: NULL is allowed, errno is kept, and no memory is lost in rounds that
 * add up to more than the machine's memory. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* glibc 2.36 does not declare the C23 names and cfree.  They are looked up at run time, or their tests are skipped. */
static void (*free_sized_name)(void *, size_t);
static void (*free_aligned_sized_name)(void *, size_t, size_t);
static void (*cfree_name)(void *);

static int find_names(void **state)
{
    (void)state;
    *(void **)&free_sized_name = dlsym(RTLD_DEFAULT, "free_sized");
    *(void **)&free_aligned_sized_name = dlsym(RTLD_DEFAULT, "free_aligned_sized");
    *(void **)&cfree_name = dlsym(RTLD_DEFAULT, "cfree");
    return 0;
}

static void release_many(void (*release)(void *p, size_t alignment, size_t size))
{
    static const size_t sizes[] = {0, 1, 16, 100, 1024, 5000, 65536, 65537, MIB(1), MIB(9)};
    size_t before = resident_bytes();
    errno = 4321;
    for (int round = 0; round < 300; round++)
        for (size_t s = 0; s < COUNT_OF(sizes); s++)
            for (size_t alignment = 16; alignment <= KIB(4); alignment *= 16) {
                char *p = alignment == 16 ? malloc(sizes[s]) : aligned_alloc(alignment, sizes[s]);
                assert_non_null(p);
                for (size_t at = 0; at < sizes[s]; at += KIB(4)) p[at] = 1;
                if (ANY_MALLOC) errno = 4321; /* POSIX allows success to change errno, but free must keep it */
                release(p, alignment, sizes[s]);
                assert_int_equal(errno, 4321);
            }
    release(NULL, 16, 0);
    assert_int_equal(errno, 4321);
    assert_true(resident_bytes() < before + MIB(64));
}

static void by_free(void *p, size_t alignment, size_t size)
{
    (void)alignment, (void)size;
    free(p);
}

static void by_sized(void *p, size_t alignment, size_t size)
{
    if (alignment <= 16)
        free_sized_name(p, size);
    else
        free_aligned_sized_name(p, alignment, size);
}

static void by_cfree(void *p, size_t alignment, size_t size)
{
    (void)alignment, (void)size;
    cfree_name(p);
}

static void free_releases(void **state)
{
    (void)state;
    release_many(by_free);
}

static void free_sized_and_free_aligned_sized_release(void **state)
{
    (void)state;
    if (free_sized_name == NULL || free_aligned_sized_name == NULL) skip();
    release_many(by_sized);
}

static void cfree_releases(void **state)
{
    (void)state;
    if (cfree_name == NULL) skip();
    release_many(by_cfree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_releases),
        cmocka_unit_test(free_sized_and_free_aligned_sized_release),
        cmocka_unit_test(cfree_releases),
    };
    return cmocka_run_group_tests(tests, find_names, NULL);
}
