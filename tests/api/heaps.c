/* Proves what include/hz3.h promises of heaps that can be thrown away. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hz3.h"
#include "unit.h"

static const size_t sizes[] = {0, 1, 16, 17, 100, 1000, 5000, 30000, 65536, 65537, KIB(300), MIB(3)};

static size_t figure(const char *name)
{
    char text[4096], key[64];
    hz3_stats_json(text, sizeof text);
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(text, key);
    assert_non_null(at);
    return strtoull(at + strlen(key), NULL, 10);
}

static void blocks_keep_what_is_written(void **state)
{
    (void)state;
    enum { EACH = 40 };
    hz3_heap_t *heaps[2] = {hz3_heap_new(), hz3_heap_new()};
    void *p[2][COUNT_OF(sizes)][EACH];
    assert_true(heaps[0] && heaps[1] && heaps[0] != heaps[1]);
    for (int i = 0; i < EACH; i++)
        for (size_t s = 0; s < COUNT_OF(sizes); s++)
            for (int h = 0; h < 2; h++) {
                p[h][s][i] = hz3_heap_malloc(heaps[h], sizes[s]);
                assert_true(p[h][s][i] && (uintptr_t)p[h][s][i] % 16 == 0);
                assert_true(hz3_heap_malloc_usable_size(heaps[h], p[h][s][i]) >= sizes[s]);
                fill(p[h][s][i], sizes[s], (uint64_t)(h + 2 * i));
            }
    for (size_t s = 0; s < COUNT_OF(sizes); s++)
        for (int i = 0; i < EACH; i += 2) hz3_heap_free(heaps[0], p[0][s][i]);
    for (int i = 0; i < EACH; i++)
        for (size_t s = 0; s < COUNT_OF(sizes); s++)
            for (int h = i % 2 ? 0 : 1; h < 2; h++) assert_true(is_filled(p[h][s][i], sizes[s], (uint64_t)(h + 2 * i)));
    hz3_heap_destroy(heaps[0]);
    for (int i = 0; i < EACH; i++)
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            assert_true(is_filled(p[1][s][i], sizes[s], (uint64_t)(1 + 2 * i)));
            hz3_heap_free(heaps[1], p[1][s][i]);
        }
    hz3_heap_destroy(heaps[1]);
    hz3_heap_destroy(NULL);
}

static void blocks_are_aligned(void **state)
{
    (void)state;
    hz3_heap_t *heap = hz3_heap_new();
    for (size_t alignment = 1; alignment <= MIB(4); alignment *= 2)
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            void *p = hz3_heap_aligned_alloc(heap, alignment, sizes[s]);
            assert_true(p && (uintptr_t)p % alignment == 0);
            fill(p, sizes[s], alignment);
            if (s % 2) hz3_heap_free(heap, p);
        }
    errno = 0;
    assert_null(hz3_heap_aligned_alloc(heap, 48, 10));
    assert_int_equal(errno, EINVAL);
    hz3_heap_destroy(heap);
}

static void calloc_is_zero_where_others_wrote(void **state)
{
    (void)state;
    hz3_heap_t *heap = hz3_heap_new();
    for (size_t s = 1; s < COUNT_OF(sizes); s++) {
        char *dirty = hz3_heap_malloc(heap, sizes[s]);
        memset(dirty, 0xff, sizes[s]);
        hz3_heap_free(heap, dirty);
        char *p = hz3_heap_calloc(heap, sizes[s], 1);
        assert_true(p && is_zero(p, sizes[s]));
        memset(p, 0xff, sizes[s]);
    }
    hz3_heap_destroy(heap);
    heap = hz3_heap_new();
    for (size_t s = 1; s < COUNT_OF(sizes); s++) assert_true(is_zero(hz3_heap_calloc(heap, 1, sizes[s]), sizes[s]));
    hz3_heap_destroy(heap);
}

static void realloc_keeps_content_and_heap(void **state)
{
    (void)state;
    hz3_heap_t *heap = hz3_heap_new();
    for (size_t from = 1; from < COUNT_OF(sizes); from++)
        for (size_t to = 1; to < COUNT_OF(sizes); to++) {
            size_t kept = sizes[from] < sizes[to] ? sizes[from] : sizes[to];
            void *p = hz3_heap_realloc(heap, NULL, sizes[from]);
            fill(p, sizes[from], from);
            p = hz3_heap_realloc(heap, p, sizes[to]);
            assert_true(p && is_filled(p, kept, from));
            p = realloc(p, sizes[from]); /* malloc's own: the block stays in the heap */
            assert_true(p && is_filled(p, kept, from));
            hz3_heap_free(heap, p);
        }
    assert_null(hz3_heap_realloc(heap, hz3_heap_malloc(heap, 1), 0));
    hz3_heap_destroy(heap);
}

static void free_takes_them_too(void **state)
{
    (void)state;
    size_t before = figure("allocated");
    hz3_heap_t *heap = hz3_heap_new();
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        void *p = hz3_heap_malloc(heap, sizes[s]);
        assert_int_equal(malloc_usable_size(p), hz3_heap_malloc_usable_size(heap, p));
        errno = 7;
        free(p);
        assert_int_equal(errno, 7);
        void *q = hz3_heap_malloc(heap, sizes[s]);
        hz3_heap_free(heap, q);
        assert_int_equal(errno, 7);
    }
    hz3_heap_destroy(heap);
    assert_int_equal(figure("allocated"), before);
}

static void statistics_count_them(void **state)
{
    (void)state;
    enum { OBJECTS = 20000, BLOCK = 1 << 20 };
    size_t before = figure("allocated"), heaps_before = figure("in_heaps");
    hz3_heap_t *heap = hz3_heap_new();
    for (int i = 0; i < OBJECTS; i++) assert_non_null(hz3_heap_malloc(heap, 300));
    assert_non_null(hz3_heap_malloc(heap, BLOCK));
    size_t held = OBJECTS * 300 + BLOCK;
    assert_in_range(figure("allocated") - before, held, held + held / 8);
    assert_in_range(figure("in_heaps") - heaps_before, held, held + held / 4);
    hz3_heap_destroy(heap);
    assert_int_equal(figure("allocated"), before);
    assert_int_equal(figure("in_heaps"), heaps_before);
}

/* Seconds of this thread's processor time, which other programs do not make more. */
static double used(void)
{
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* An object costs nothing: one of many is destroyed in far less time than it takes to free them. */
static void destroying_costs_by_run(void **state)
{
    (void)state;
    enum { OBJECTS = 200000 };
    double times[2];
    void **p = malloc(OBJECTS * sizeof *p);
    for (int each = 0; each < 2; each++) {
        hz3_heap_t *heap = hz3_heap_new();
        for (int i = 0; i < OBJECTS; i++) memset(p[i] = hz3_heap_malloc(heap, 16), 1, 16);
        double start = used();
        for (int i = 0; each && i < OBJECTS; i++) hz3_heap_free(heap, p[i]);
        if (!each) hz3_heap_destroy(heap);
        times[each] = used() - start;
        if (each) hz3_heap_destroy(heap);
    }
    free(p);
    print_message("destroyed in %.0f us, freed in %.0f us\n", times[0] * 1e6, times[1] * 1e6);
    assert_true(times[0] < times[1] / 8);
}

static void destroying_gives_back(void **state)
{
    (void)state;
    hz3_heap_t *heap = hz3_heap_new();
    for (int i = 0; i < 50000; i++) memset(hz3_heap_malloc(heap, 1000), 1, 1000);
    for (int i = 0; i < 50; i++) memset(hz3_heap_malloc(heap, MIB(1)), 1, MIB(1));
    size_t full = resident_bytes();
    hz3_heap_destroy(heap);
    hz3_malloc_trim(0);
    assert_true(resident_bytes() + MIB(90) < full);
}

/* Lane secure clears what is freed, against leaks. */
static void a_destroyed_heap_leaves_nothing_to_read(void **state)
{
    (void)state;
    enum { OBJECTS = 16, SIZE = 60000 };
    if (!strstr(hz3_config_string(), " lane=secure ")) skip();
    hz3_heap_t *heap = hz3_heap_new();
    for (int i = 0; i < OBJECTS; i++) memset(hz3_heap_malloc(heap, SIZE), 0x5a, SIZE);
    hz3_heap_destroy(heap);
    char *p = malloc(OBJECTS * SIZE);
    assert_null(memchr(p, 0x5a, OBJECTS * SIZE));
    free(p);
}

/* ---- threads ---- */

enum { THREADS = 4, SLOTS = 500, ROUNDS = 60000 };
static hz3_heap_t *shared;
static _Atomic(void *) slots[SLOTS];

/* Threads swap blocks, and free what others allocated; by either function. */
static void *swap(void *seed)
{
    uint64_t random = (uint64_t)(uintptr_t)seed;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t drawn = next_random(&random);
        size_t size = drawn % 50 ? drawn / 64 % 2000 + 8 : KIB(70);
        uint64_t *p = hz3_heap_malloc(shared, size);
        CHECK(p != NULL);
        *p = (uint64_t)(uintptr_t)p;
        uint64_t *q = __atomic_exchange_n((void **)&slots[drawn / 4096 % SLOTS], p, __ATOMIC_ACQ_REL);
        if (!q) continue;
        CHECK(*q == (uint64_t)(uintptr_t)q);
        if (i % 2)
            free(q);
        else
            hz3_heap_free(shared, q);
    }
    return NULL;
}

static void any_thread_may_use_one(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    size_t before = figure("allocated");
    shared = hz3_heap_new();
    for (size_t i = 0; i < THREADS; i++) threads[i] = start_thread(swap, (void *)(i + 1));
    for (size_t i = 0; i < THREADS; i++) join_thread(threads[i]);
    memset((void *)slots, 0, sizeof slots);
    hz3_heap_destroy(shared);
    assert_true(figure("allocated") < before + KIB(64)); /* of the threads themselves */
}

static void use_copies(void *blocks)
{
    void **p = blocks;
    for (int i = 0; i < SLOTS; i++) CHECK(is_filled(p[i], 100, (uint64_t)i));
    for (int i = 0; i < SLOTS; i += 2) hz3_heap_free(shared, p[i]);
    for (int i = 0; i < 3 * SLOTS; i++) CHECK(hz3_heap_malloc(shared, 100) != NULL);
    for (int i = 1; i < SLOTS; i += 2) CHECK(is_filled(p[i], 100, (uint64_t)i));
    hz3_heap_destroy(shared);
    CHECK((shared = hz3_heap_new()) && hz3_heap_malloc(shared, MIB(1)));
}

static void a_child_may_use_its_copy(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    void *p[SLOTS];
    shared = hz3_heap_new();
    for (int i = 0; i < SLOTS; i++) fill(p[i] = hz3_heap_malloc(shared, 100), 100, (uint64_t)i);
    for (size_t i = 0; i < THREADS; i++) threads[i] = start_thread(swap, (void *)(i + 1));
    for (int i = 0; i < 50; i++) expect_success(in_child(use_copies, p), 10);
    for (size_t i = 0; i < THREADS; i++) join_thread(threads[i]);
    memset((void *)slots, 0, sizeof slots);
    for (int i = 0; i < SLOTS; i++) assert_true(is_filled(p[i], 100, (uint64_t)i));
    hz3_heap_destroy(shared);
}

/* ---- refusals ---- */

static void fill_up(void *size)
{
    enum { MOST = 1 << 18 };
    static void *p[MOST];
    struct rlimit limit = {status_bytes("VmSize:") + MIB(64), RLIM_INFINITY};
    hz3_heap_t *heap = hz3_heap_new();
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    int first = 0, again = 0;
    while (first < MOST && (p[first] = hz3_heap_malloc(heap, *(size_t *)size)))
        fill(p[first], 16, (uint64_t)first), first++;
    CHECK(first < MOST && errno == ENOMEM);
    for (int i = 0; i < first; i++) CHECK(is_filled(p[i], 16, (uint64_t)i));
    CHECK(hz3_heap_realloc(heap, p[0], 2 * *(size_t *)size + MIB(64)) == NULL && is_filled(p[0], 16, 0));
    for (int i = 0; i < first; i++) hz3_heap_free(heap, p[i]);
    while (again < first && (p[again] = hz3_heap_malloc(heap, *(size_t *)size))) again++;
    CHECK(again >= first - first / 8);
    hz3_heap_destroy(heap);
    CHECK((heap = hz3_heap_new()) != NULL);
    for (again = 0; again < first && hz3_heap_malloc(heap, *(size_t *)size);) again++;
    CHECK(again >= first - first / 8);
}

static void what_cannot_be_had_is_null(void **state)
{
    (void)state;
    hz3_heap_t *heap = hz3_heap_new();
    size_t huge[] = {SIZE_MAX, (size_t)PTRDIFF_MAX + 1, PTRDIFF_MAX - 4096};
    for (size_t i = 0; i < COUNT_OF(huge); i++) {
        errno = 0;
        assert_true(!hz3_heap_malloc(heap, huge[i]) && errno == ENOMEM);
        errno = 0;
        assert_true(!hz3_heap_calloc(heap, huge[i] / 2 + 1, 4) && errno == ENOMEM);
        errno = 0;
        assert_true(!hz3_heap_aligned_alloc(heap, 64, huge[i]) && errno == ENOMEM);
    }
    hz3_heap_destroy(heap);
    size_t sizes_of_all[] = {1008, 20000, KIB(500)};
    for (size_t i = 0; i < COUNT_OF(sizes_of_all); i++) expect_success(in_child(fill_up, &sizes_of_all[i]), 20);
}

/* There is no memory for a smaller block, so it stays, and has its new size. */
static void shrink_in_want(void *size)
{
    enum { BLOCKS = 8, SMALLER = 100, MANY = 100000 };
    static void *rest[MANY];
    void *blocks[BLOCKS];
    size_t taken = 0;
    hz3_heap_t *heap = hz3_heap_new();
    for (size_t i = 0; i < BLOCKS; i++) {
        CHECK((blocks[i] = hz3_heap_malloc(heap, *(size_t *)size)) != NULL);
        fill(blocks[i], SMALLER, i);
    }
    CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){0, 0}) == 0);
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        while (taken < MANY && (rest[taken] = hz3_heap_malloc(heap, sizes[COUNT_OF(sizes) - 1 - i]))) taken++;
    CHECK(taken < MANY);
    for (size_t i = 0; i < BLOCKS; i++) {
        void *p = hz3_heap_realloc(heap, blocks[i], SMALLER);
        CHECK(p == blocks[i] && is_filled(p, SMALLER, i) && hz3_heap_malloc_usable_size(heap, p) >= SMALLER);
    }
    for (size_t i = 0; i < BLOCKS; i++) hz3_heap_free(heap, blocks[i]);
    while (taken) hz3_heap_free(heap, rest[--taken]);
    hz3_heap_destroy(heap);
}

static void a_block_shrinks_where_it_is(void **state)
{
    (void)state;
    size_t sizes_of_all[] = {30000, KIB(300)};
    for (size_t i = 0; i < COUNT_OF(sizes_of_all); i++) expect_success(in_child(shrink_in_want, &sizes_of_all[i]), 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_keep_what_is_written),
        cmocka_unit_test(blocks_are_aligned),
        cmocka_unit_test(calloc_is_zero_where_others_wrote),
        cmocka_unit_test(realloc_keeps_content_and_heap),
        cmocka_unit_test(free_takes_them_too),
        cmocka_unit_test(statistics_count_them),
        cmocka_unit_test(destroying_costs_by_run),
        cmocka_unit_test(destroying_gives_back),
        cmocka_unit_test(a_destroyed_heap_leaves_nothing_to_read),
        cmocka_unit_test(any_thread_may_use_one),
        cmocka_unit_test(a_child_may_use_its_copy),
        cmocka_unit_test(what_cannot_be_had_is_null),
        cmocka_unit_test(a_block_shrinks_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
