/* Proves that glibc's functions for statistics can be called and return plausible numbers. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

enum { BLOCKS = 4000 };

static size_t in_use(void)
{
    struct mallinfo2 figures = mallinfo2();
    return figures.uordblks + figures.hblkhd;
}

static void figures_follow_what_is_allocated(size_t size, size_t count)
{
    static void *p[BLOCKS];
    size_t before = in_use(), total = size * count;
    for (size_t i = 0; i < count; i++) {
        p[i] = malloc(size);
        assert_non_null(p[i]);
        memset(p[i], 1, size);
    }
    size_t during = in_use();
    assert_true(during >= before + total);
    assert_true(during <= before + total + total / 2);
    for (size_t i = 0; i < count; i++) free(p[i]);
    malloc_trim(0);
    assert_true(in_use() <= before + total / 4);
}

static void mallinfo2_counts_small_blocks(void **state)
{
    (void)state;
    figures_follow_what_is_allocated(1000, BLOCKS);
    figures_follow_what_is_allocated(10000, 1000);
}

static void mallinfo2_counts_large_blocks(void **state)
{
    (void)state;
    figures_follow_what_is_allocated(MIB(3), 20);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void mallinfo_agrees_with_mallinfo2(void **state)
{
    (void)state;
    void *p = malloc(50000);
    assert_non_null(p);
    struct mallinfo old = mallinfo();
    struct mallinfo2 wide = mallinfo2();
    assert_true((size_t)old.uordblks == wide.uordblks);
    assert_true(old.uordblks >= 50000);
    free(p);
}

static void malloc_info_writes_a_document(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    errno = 0;
    assert_int_equal(malloc_info(1, file), -1); /* the only option is 0 */
    assert_int_equal(errno, EINVAL);
    assert_int_equal(malloc_info(0, file), 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(strncmp(text, "<malloc", strlen("<malloc")), 0);
    assert_non_null(strstr(text, "</malloc>"));
    free(text);
}

static void malloc_stats_writes_to_stderr(void **state)
{
    (void)state;
    int kept = dup(STDERR_FILENO), file = memfd_create("stats", 0);
    assert_true(kept >= 0 && file >= 0);
    fflush(stderr);
    assert_true(dup2(file, STDERR_FILENO) >= 0);
    malloc_stats();
    fflush(stderr);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    assert_true(lseek(file, 0, SEEK_END) > 20);
    close(kept);
    close(file);
}

static void mallopt_can_be_called(void **state)
{
    (void)state;
    static const int options[] = {M_MXFAST,   M_TRIM_THRESHOLD, M_TOP_PAD,   M_MMAP_THRESHOLD,
                                  M_MMAP_MAX, M_PERTURB,        M_ARENA_MAX, -9999};
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        int answer = mallopt(options[i], options[i] == M_MMAP_THRESHOLD ? KIB(256) : 0);
        assert_true(answer == 0 || answer == 1);
    }
    void *p = malloc(1000);
    assert_non_null(p);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mallinfo2_counts_small_blocks),  cmocka_unit_test(mallinfo2_counts_large_blocks),
        cmocka_unit_test(mallinfo_agrees_with_mallinfo2), cmocka_unit_test(malloc_info_writes_a_document),
        cmocka_unit_test(malloc_stats_writes_to_stderr),  cmocka_unit_test(mallopt_can_be_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
