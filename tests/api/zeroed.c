/* Proves that calloc returns zeroes even if every byte was written a moment ago, by this thread or another, whether or
 * not the pages went back to the system in between. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

enum { BLOCKS = 40 };

struct batch {
    void *p[BLOCKS];
    size_t count, size;
};

static void *dirty(void *arg)
{
    struct batch *batch = (struct batch *)arg;
    for (size_t i = 0; i < batch->count; i++) {
        batch->p[i] = malloc(batch->size);
        CHECK(batch->p[i] != NULL);
        memset(batch->p[i], 0xff, malloc_usable_size(batch->p[i]));
    }
    return NULL;
}

static void *drop(void *arg)
{
    struct batch *batch = (struct batch *)arg;
    for (size_t i = 0; i < batch->count; i++) free(batch->p[i]);
    return NULL;
}

static void expect_zeroes(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        batch->p[i] = i % 2 ? calloc(1, batch->size) : calloc(batch->size, 1);
        assert_non_null(batch->p[i]);
        assert_true(is_zero(batch->p[i], batch->size));
    }
    drop(batch);
}

static void of_every_size(void **state)
{
    (void)state;
    struct batch batch = {.count = 4};
    for (batch.size = 1; batch.size <= 70000; batch.size += batch.size < 1100 ? 1 : 61) {
        dirty(&batch);
        drop(&batch);
        expect_zeroes(&batch);
    }
}

static void of_large_sizes(void **state)
{
    (void)state;
    struct batch batch = {.count = 2};
    for (batch.size = KIB(128); batch.size <= MIB(64); batch.size = batch.size * 3 + 5) {
        dirty(&batch);
        drop(&batch);
        expect_zeroes(&batch);
        expect_zeroes(&batch);
    }
}

/* Half of the blocks stay, so that pages between live blocks go back. */
static void after_pages_went_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {48, 1000, 5000, 30000, 65536, KIB(300), MIB(3)};
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        struct batch kept = {.count = BLOCKS / 2, .size = sizes[s]}, gone = kept;
        dirty(&kept);
        dirty(&gone);
        drop(&gone);
        malloc_trim(0);
        expect_zeroes(&gone);
        drop(&kept);
        malloc_trim(0);
        kept.count = BLOCKS;
        expect_zeroes(&kept);
    }
}

static void after_another_threads_dirt(void **state)
{
    (void)state;
    struct batch batch = {.count = BLOCKS};
    for (batch.size = 8; batch.size <= MIB(1); batch.size = batch.size * 2 + 3) {
        join_thread(start_thread(dirty, &batch));
        drop(&batch);
        expect_zeroes(&batch);
        dirty(&batch);
        join_thread(start_thread(drop, &batch));
        expect_zeroes(&batch);
    }
}

/* The part that realloc cuts off is dirty. */
static void after_shrinking(void **state)
{
    (void)state;
    for (size_t size = 64; size <= MIB(32); size = size * 3 + 1) {
        struct batch batch = {.count = 1, .size = size};
        dirty(&batch);
        void *small = realloc(batch.p[0], size / 4);
        assert_non_null(small);
        batch.size = size / 2;
        expect_zeroes(&batch);
        free(small);
    }
}

/* Sizes above the bound on free memory, first dirty and then untouched.  The pauses let a background thread purge.
 */
static void of_very_large_sizes(void **state)
{
    (void)state;
    struct batch batch = {.count = 1, .size = MIB(300)};
    dirty(&batch);
    drop(&batch);
    usleep(50 * 1000);
    expect_zeroes(&batch);
    malloc_trim(0);
    free(malloc(MIB(64)));
    usleep(50 * 1000);
    free(malloc(MIB(1000)));
    size_t before = resident_bytes();
    unsigned char *p = calloc(1, MIB(1000));
    assert_non_null(p);
    assert_int_equal(p[0] | p[MIB(500)] | p[MIB(1000) - 1], 0);
    assert_true(ANY_MALLOC || resident_bytes() < before + MIB(8));
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_every_size),         cmocka_unit_test(of_large_sizes),
        cmocka_unit_test(after_pages_went_back), cmocka_unit_test(after_another_threads_dirt),
        cmocka_unit_test(after_shrinking),       cmocka_unit_test(of_very_large_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
