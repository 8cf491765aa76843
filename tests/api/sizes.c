/* Proves that a block of any size is 16-byte aligned, overlaps no other up to its last usable byte, and never changes
 * its usable size. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

enum { LIVE = 61 };

struct block {
    void *p;
    size_t usable;
    uint64_t id;
};

static void give_back(struct block *b)
{
    assert_true(b->p == NULL || is_filled(b->p, b->usable, b->id));
    free(b->p);
    b->p = NULL;
}

/* Allocates a block while LIVE - 1 others are live, so that an overlap shows. */
static void take(struct block *ring, size_t size, bool fill_it)
{
    static uint64_t serial;
    struct block *b = &ring[++serial % LIVE];
    give_back(b);
    b->p = malloc(size);
    assert_non_null(b->p);
    assert_int_equal((uintptr_t)b->p % least_alignment(size), 0);
    size_t usable = malloc_usable_size(b->p);
    assert_true(usable >= size);
    b->usable = fill_it ? usable : 0;
    b->id = serial;
    fill(b->p, b->usable, b->id);
}

static void take_sizes(size_t first, size_t last, size_t step, bool fill_them)
{
    struct block ring[LIVE] = {{0}};
    for (size_t size = first; size <= last; size += step) take(ring, size, fill_them);
    for (size_t i = 0; i < LIVE; i++) give_back(&ring[i]);
}

static void every_size_is_aligned(void **state)
{
    (void)state;
    take_sizes(0, 70000, 1, false);
    take_sizes(70000, MIB(2), 1013, false);
}

static void every_byte_is_the_owners(void **state)
{
    (void)state;
    take_sizes(0, 2100, 1, true);
    take_sizes(2101, 70000, 29, true);
    take_sizes(70001, MIB(2), 30011, true);
    take_sizes(MIB(3), MIB(16), MIB(1) + 4097, true);
}

static void a_block_of_no_bytes_is_unique(void **state)
{
    (void)state;
    void *p[300];
    for (size_t i = 0; i < COUNT_OF(p); i++) {
        p[i] = i % 3 == 0 ? malloc(0) : i % 3 == 1 ? calloc(0, 8) : realloc(NULL, 0);
        assert_non_null(p[i]);
        for (size_t j = 0; j < i; j++) assert_ptr_not_equal(p[i], p[j]);
    }
    for (size_t i = 0; i < COUNT_OF(p); i++) free(p[i]);
}

static void *usable_size_seen_by_a_thread(void *p)
{
    return (void *)malloc_usable_size(p);
}

static void the_usable_size_is_stable(void **state)
{
    (void)state;
    struct block blocks[400];
    uint64_t seed = 1;
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        blocks[i].p = malloc(next_random(&seed) % (i % 8 ? KIB(70) : MIB(3)));
        assert_non_null(blocks[i].p);
        blocks[i].usable = malloc_usable_size(blocks[i].p);
    }
    take_sizes(0, 70000, 501, true);
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        assert_int_equal(malloc_usable_size(blocks[i].p), blocks[i].usable);
        void *elsewhere = join_thread(start_thread(usable_size_seen_by_a_thread, blocks[i].p));
        assert_int_equal((size_t)elsewhere, blocks[i].usable);
        free(blocks[i].p);
    }
    assert_int_equal(malloc_usable_size(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_is_aligned),
        cmocka_unit_test(every_byte_is_the_owners),
        cmocka_unit_test(a_block_of_no_bytes_is_unique),
        cmocka_unit_test(the_usable_size_is_stable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
