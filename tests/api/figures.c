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

static bool adds_up(struct mallinfo2 figures)
{
    return figures.uordblks + figures.fordblks == figures.arena && figures.keepcost <= figures.fordblks;
}

/* As glibc's manual defines them. */
static void mallinfo2_knows_blocks_that_are_mapped_one_by_one(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    void *p[COUNT];
    if (ANY_MALLOC) skip();
    struct mallinfo2 before = mallinfo2();
    for (size_t i = 0; i < COUNT; i++) assert_non_null(p[i] = malloc(MIB(33)));
    struct mallinfo2 during = mallinfo2();
    assert_int_equal(during.hblks, before.hblks + COUNT);
    assert_true(during.hblkhd >= before.hblkhd + COUNT * MIB(33));
    assert_true(during.hblkhd <= before.hblkhd + COUNT * MIB(34));
    assert_true(during.uordblks < before.uordblks + MIB(1));
    assert_true(adds_up(before) && adds_up(during));
    assert_non_null(p[0] = realloc(p[0], MIB(100)));
    struct mallinfo2 grown = mallinfo2();
    assert_int_equal(grown.hblks, during.hblks);
    assert_int_equal(grown.hblkhd, during.hblkhd + MIB(67));
    for (size_t i = 0; i < COUNT; i++) free(p[i]);
    struct mallinfo2 after = mallinfo2();
    assert_int_equal(after.hblks, before.hblks);
    assert_int_equal(after.hblkhd, before.hblkhd);
    assert_true(adds_up(after));
}

static void mallinfo2_counts_what_is_free(void **state)
{
    (void)state;
    void *p[BLOCKS];
    if (ANY_MALLOC) skip();
    for (size_t i = 0; i < BLOCKS; i++) assert_non_null(p[i] = malloc(1000));
    struct mallinfo2 before = mallinfo2();
    assert_true(adds_up(before) && before.uordblks >= 1000 * BLOCKS);
    for (size_t i = 0; i < BLOCKS; i += 64) free(p[i]);
    struct mallinfo2 after = mallinfo2();
    assert_true(adds_up(after) && after.ordblks > before.ordblks && after.fordblks > before.fordblks);
    for (size_t i = 0; i < BLOCKS; i++)
        if (i % 64) free(p[i]);
    assert_true(mallinfo2().ordblks >= 1);
    malloc_trim(0); /* it may leave nothing that is free */
    assert_true(adds_up(mallinfo2()) && mallinfo2().fordblks < after.fordblks);
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
    assert_non_null(p = malloc(MIB(40)));
    old = mallinfo();
    wide = mallinfo2();
    assert_true((size_t)old.hblks == wide.hblks && (size_t)old.hblkhd == wide.hblkhd &&
                (size_t)old.arena == wide.arena);
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

/* The stream may not be the descriptor. */
static void malloc_stats_writes_to_the_stream(void **state)
{
    (void)state;
    if (ANY_MALLOC) skip();
    char *text = NULL, buffer[8192];
    size_t size = 0;
    FILE *usual = stderr, *memory = open_memstream(&text, &size);
    assert_non_null(memory);
    int kept = dup(STDERR_FILENO), file = memfd_create("stats", 0);
    assert_true(kept >= 0 && file >= 0 && dup2(file, STDERR_FILENO) >= 0);
    stderr = memory;
    errno = ERANGE;
    malloc_stats();
    assert_int_equal(errno, ERANGE);
    stderr = usual;
    assert_int_equal(fclose(memory), 0);
    assert_non_null(strstr(text, "stats (bytes)"));
    free(text);
    assert_int_equal(lseek(file, 0, SEEK_END), 0);
    assert_int_equal(setvbuf(stderr, buffer, _IOFBF, sizeof(buffer)), 0); /* in the order in which it was written */
    fputs("first\n", stderr);
    malloc_stats();
    fputs("last\n", stderr);
    fflush(stderr);
    assert_int_equal(setvbuf(stderr, NULL, _IONBF, 0), 0);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    char *all = calloc(1, 2 * sizeof(buffer));
    assert_true(all && pread(file, all, 2 * sizeof(buffer) - 1, 0) > 0);
    assert_true(!strncmp(all, "first\n", 6) && !strcmp(all + strlen(all) - 5, "last\n") &&
                strstr(all, "stats (bytes)"));
    free(all);
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
        cmocka_unit_test(mallinfo2_counts_small_blocks),
        cmocka_unit_test(mallinfo2_counts_large_blocks),
        cmocka_unit_test(mallinfo_agrees_with_mallinfo2),
        cmocka_unit_test(malloc_info_writes_a_document),
        cmocka_unit_test(malloc_stats_writes_to_stderr),
        cmocka_unit_test(mallopt_can_be_called),
        cmocka_unit_test(mallinfo2_counts_what_is_free),
        cmocka_unit_test(malloc_stats_writes_to_the_stream),
        cmocka_unit_test(mallinfo2_knows_blocks_that_are_mapped_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
