/* The thread cache: a flush empties it, nothing is lost between threads, and a thread keeps no more than it should of
 * what it frees. */
#include "allocated.h"
#include "unit.h"

#include "base/sizeclass.h"
#include "front/cache.h"
#include "front/evict.h"
#include "front/heap.h"
#include "front/threads.h"

#include <pthread.h>

#include "earn.h"
#include "support.h"

static void a_flush_leaves_nothing(void **state)
{
    (void)state;
    void *objects[500];
    unsigned cls = hz3_class_of(200);
    size_t before = allocated();
    for (int i = 0; i < 500; i++) assert_non_null(objects[i] = hz3_cache_malloc(cls));
    assert_int_equal(allocated(), before + 500 * hz3_class_size(cls));
    for (int i = 0; i < 500; i++) hz3_cache_free(objects[i], cls);
    assert_int_equal(allocated(), before);
    assert_true(hz3_cache_objects(cls) > 0);
    hz3_cache_flush();
    assert_int_equal(hz3_cache_objects(cls), 0);
    assert_int_equal(allocated(), before);
}

static void forget_and_leave(void *unused)
{
    (void)unused;
    struct hz3_heap *heap = hz3_thread.heap;
    hz3_set(heap->threads, 0); /* as after a fork by a signal handler that interrupted join() */
    hz3_heap_leave(heap);
    CHECK(hz3_get(heap->threads) == 0);
}

static void a_heap_never_has_less_than_no_threads(void **state)
{
    (void)state;
    expect_success(in_child(forget_and_leave, NULL), 10);
}

/* A thread that also allocates keeps the magazine that it filled, for its next mallocs; more where the class stores. */
static void a_thread_that_allocates_keeps_a_full_magazine(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(400), load = hz3_class_info[cls].load;
    void *objects[300];
    assert_int_equal(capacity_earned(cls), load);
    for (int round = 0; round < 2; round++) {
        hz3_cache_flush();
        for (unsigned i = 0; i < 3 * load; i++) objects[i] = hz3_cache_malloc(cls);
        hz3_cache_flush();
        for (unsigned i = 0; i < 2 * load + 1; i++) hz3_cache_free(objects[i], cls);
        assert_int_equal(hz3_cache_objects(cls), hz3_thread.cache.store[cls] ? 2 * load + 1 : load + 1);
        for (unsigned i = 2 * load + 1; i < 3 * load; i++) hz3_cache_free(objects[i], cls);
    }
    hz3_cache_flush();
}

/* While mallocs and frees keep crossing the boundary between the two magazines, the class earns room. */
static void a_class_that_swaps_often_earns_room(void **state)
{
    (void)state;
    enum { AT_ONCE = 6, ROUNDS = 1000, SETTLED = 900 };
    unsigned cls = hz3_class_of(500);
    void *objects[AT_ONCE];
    uint64_t swaps = 0, first = hz3_thread.cache.stats.swap;
    assert_true(2 * hz3_thread.cache.capacity[cls] < AT_ONCE);
    for (int round = 0; round < ROUNDS; round++) {
        if (round == SETTLED) swaps = hz3_thread.cache.stats.swap;
        for (int i = 0; i < AT_ONCE; i++) assert_non_null(objects[i] = hz3_cache_malloc(cls));
        for (int i = 0; i < AT_ONCE; i++) hz3_cache_free(objects[i], cls);
    }
    assert_true(swaps > first);
    assert_int_equal(hz3_thread.cache.stats.swap, swaps);
    hz3_cache_flush();
}

enum { PASSED = 10000 };
static void *passed[PASSED];
static size_t most_kept; /* by free_them, in the second half of its work */

static void *free_them(void *arg)
{
    unsigned cls = (unsigned)(uintptr_t)arg;
    for (int i = 0; i < PASSED; i++) {
        hz3_cache_free(passed[i], cls);
        if (i >= PASSED / 2) most_kept = hz3_max(most_kept, hz3_cache_objects(cls));
    }
    return NULL;
}

static void another_thread_frees(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(64);
    size_t before = allocated();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < PASSED; i++) passed[i] = hz3_cache_malloc(cls);
        hz3_cache_flush();
        most_kept = 0;
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, free_them, (void *)(uintptr_t)cls), 0);
        pthread_join(thread, NULL);
        assert_int_equal(allocated(), before);
        /* A thread that only frees keeps the magazine that it is filling, and no full one beside it. */
        assert_true(0 < most_kept && most_kept <= hz3_class_info[cls].load);
    }
}

RUN(cmocka_unit_test(a_flush_leaves_nothing), cmocka_unit_test(a_heap_never_has_less_than_no_threads),
    cmocka_unit_test(a_thread_that_allocates_keeps_a_full_magazine),
    cmocka_unit_test(a_class_that_swaps_often_earns_room), cmocka_unit_test(another_thread_frees))
