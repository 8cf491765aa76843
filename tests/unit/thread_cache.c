/* The thread cache: capacity is earned within its budgets, a flush leaves nothing, nothing is lost between threads. */
#include "unit.h"

#include "base/sizeclass.h"
#include "front/thread_cache.h"
#include "watch/stats.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t allocated(void)
{
    struct hz3_stats stats;
    hz3_stats_read(&stats);
    return stats.allocated;
}

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

/* The capacity after rounds that would earn it. */
static unsigned capacity_earned(unsigned cls)
{
    void *objects[300];
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 300; i++) objects[i] = hz3_cache_malloc(cls);
        for (int i = 0; i < 300; i++) hz3_cache_free(objects[i], cls);
    }
    assert_true(hz3_cache_objects(cls) <= 2u * hz3_class_info[cls].load);
    return hz3_thread.capacity[cls];
}

static void capacity_is_earned_within_both_budgets(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(1024);
    unsigned first = hz3_thread.capacity[cls];
    assert_true(first < hz3_class_info[cls].load);
    hz3_cache_budgets(0, SIZE_MAX);
    assert_int_equal(capacity_earned(cls), first);
    hz3_cache_budgets(SIZE_MAX, 0);
    assert_int_equal(capacity_earned(cls), first);
    hz3_cache_budgets(SIZE_MAX, SIZE_MAX);
    assert_int_equal(capacity_earned(cls), hz3_class_info[cls].load);
    hz3_cache_flush();
}

static void what_was_earned_is_given_back_after_a_flush_too(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(900), other = hz3_class_of(64), first = hz3_thread.capacity[cls];
    assert_int_equal(capacity_earned(cls), hz3_class_info[cls].load);
    for (uint64_t until = hz3_os_now_ms() + 10000; hz3_thread.capacity[cls] > first && hz3_os_now_ms() < until;) {
        hz3_cache_flush();
        hz3_cache_free(hz3_cache_malloc(other), other);
    }
    assert_int_equal(hz3_thread.capacity[cls], first);
}

/* What it holds falls with it, or the budgets would not bound what all hold. */
static void what_is_held_falls_with_the_capacity(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(800), other = hz3_class_of(64), first = hz3_thread.capacity[cls];
    assert_int_equal(capacity_earned(cls), hz3_class_info[cls].load);
    assert_true(hz3_cache_objects(cls) > first);
    for (uint64_t until = hz3_os_now_ms() + 10000; hz3_thread.capacity[cls] > first && hz3_os_now_ms() < until;) {
        void *objects[40];
        for (int i = 0; i < 40; i++) objects[i] = hz3_cache_malloc(other);
        for (int i = 0; i < 40; i++) hz3_cache_free(objects[i], other);
    }
    assert_int_equal(hz3_thread.capacity[cls], first);
    assert_true(hz3_cache_objects(cls) <= first);
}

/* Whoever was about to join, or to change its part of the budget, when the process forked. */
static void a_child_counts_its_only_thread(void **state)
{
    (void)state;
    hz3_add(hz3_heaps[0].threads, 1); /* as join() does first */
    pid_t child = fork();
    if (!child) {
        unsigned users = 0;
        for (unsigned i = 0; i < hz3_heap_count; i++) users += hz3_get(hz3_heaps[i].threads);
        _exit(users == 1 ? 0 : 1);
    }
    hz3_sub(hz3_heaps[0].threads, 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* It does not only free: a magazine that it filled is kept for the mallocs to come. */
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
        assert_int_equal(hz3_cache_objects(cls), load + 1);
        for (unsigned i = 2 * load + 1; i < 3 * load; i++) hz3_cache_free(objects[i], cls);
    }
    hz3_cache_flush();
}

enum { PASSED = 10000 };
/* Where malloc and free by turns cross the boundary between its two magazines, they soon do so no more. */
static void a_class_that_swaps_often_earns_room(void **state)
{
    (void)state;
    enum { AT_ONCE = 6, ROUNDS = 1000, SETTLED = 900 };
    unsigned cls = hz3_class_of(500);
    void *objects[AT_ONCE];
    uint64_t swaps = 0, first = hz3_thread.stats.swap;
    assert_true(2 * hz3_thread.capacity[cls] < AT_ONCE);
    for (int round = 0; round < ROUNDS; round++) {
        if (round == SETTLED) swaps = hz3_thread.stats.swap;
        for (int i = 0; i < AT_ONCE; i++) assert_non_null(objects[i] = hz3_cache_malloc(cls));
        for (int i = 0; i < AT_ONCE; i++) hz3_cache_free(objects[i], cls);
    }
    assert_true(swaps > first);
    assert_int_equal(hz3_thread.stats.swap, swaps);
    hz3_cache_flush();
}

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
        /* Who only frees keeps what it is filling, and no full magazine beside it. */
        assert_true(0 < most_kept && most_kept <= hz3_class_info[cls].load);
    }
}

RUN(cmocka_unit_test(a_flush_leaves_nothing), cmocka_unit_test(capacity_is_earned_within_both_budgets),
    cmocka_unit_test(what_was_earned_is_given_back_after_a_flush_too),
    cmocka_unit_test(what_is_held_falls_with_the_capacity), cmocka_unit_test(a_child_counts_its_only_thread),
    cmocka_unit_test(a_thread_that_allocates_keeps_a_full_magazine),
    cmocka_unit_test(a_class_that_swaps_often_earns_room), cmocka_unit_test(another_thread_frees))
