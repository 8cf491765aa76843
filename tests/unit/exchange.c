/* Exchanges without a lock: they keep every object, touch nothing shared where two magazines are enough, and leave the
 * rest to the slow path. */
#include "allocated.h"
#include "unit.h"

#include "front/budget.h"
#include "front/evict.h"
#include "front/exchange.h"
#include "front/sleepers.h"
#include "os/gate.h"
#include HZ3_SECURE_H
#include "os/sandbox.h"
#include "reclaim/visit.h"

#include <pthread.h>

#include "earn.h"
#include "support.h"

enum { WAVES = 50, MOST = 400 };
static _Thread_local void *objects[MOST];
static pthread_barrier_t barrier;
static _Thread_local unsigned exchanged, slow; /* calls for which an exchange was enough, and not */

static void *take(unsigned cls)
{
    if (!hz3_is_empty(hz3_thread.cache.top[cls])) return hz3_cache_malloc(cls);
    void *p = hz3_exchange_malloc(cls);
    *(p ? &exchanged : &slow) += 1;
    return p ? p : hz3_cache_malloc(cls);
}

static void give(void *p, unsigned cls)
{
    hz3_seal_wipe(p, cls); /* as what is free has to be in lane secure */
    bool full = hz3_is_full(hz3_thread.cache.top[cls]), done = full && hz3_exchange_free(p, cls);
    if (full) *(done ? &exchanged : &slow) += 1;
    if (!done) hz3_cache_free(p, cls);
}

static void waves(unsigned cls, unsigned n)
{
    exchanged = slow = 0;
    for (int wave = 0; wave < WAVES; wave++) {
        for (unsigned i = 0; i < n; i++) memset(objects[i] = take(cls), (int)i, 8);
        for (unsigned i = 0; i < n; i++) {
            CHECK(*(unsigned char *)objects[i] == (unsigned char)i); /* nobody else has it */
            give(objects[i], cls);
        }
    }
}

static void a_wave_that_fits_changes_magazines_only(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(64), load = capacity_earned(cls);
    size_t before = allocated();
    waves(cls, 2 * load - 2);
    struct hz3_cache_stats stats = hz3_thread.cache.stats;
    waves(cls, 2 * load - 2);
    assert_int_equal(hz3_thread.cache.stats.transfer, stats.transfer);
    assert_int_equal(hz3_thread.cache.stats.overflow, stats.overflow);
    assert_true(exchanged >= WAVES);
    assert_true(slow <= exchanged / 4); /* each eighth swap counts as a miss */
    assert_int_equal(allocated(), before);
    hz3_cache_flush();
}

/* How many magazines the class may store, after waves that go through what threads share. */
static unsigned store_earned(unsigned cls)
{
    earn(cls);
    for (int round = 0; round < 20; round++) waves(cls, MOST);
    return hz3_thread.cache.store[cls];
}

static void a_class_that_gets_back_what_it_left_stores_magazines(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(64), load = hz3_class_info[cls].load;
    size_t before = allocated();
    assert_int_equal(store_earned(cls), 8);
    waves(cls, 9 * load);
    struct hz3_cache_stats stats = hz3_thread.cache.stats;
    waves(cls, 9 * load); /* fits into what is loaded, previous and stored */
    assert_int_equal(hz3_thread.cache.stats.transfer, stats.transfer);
    assert_int_equal(hz3_thread.cache.stats.overflow, stats.overflow);
    assert_int_equal(hz3_thread.cache.stats.retired, stats.retired);
    assert_in_range(slow, 1, exchanged / 256 + 1); /* so reclaim becomes due now and then */
    assert_in_range(hz3_cache_objects(cls), 9 * load, 10 * load);
    assert_int_equal(allocated(), before);
    hz3_cache_flush();
    assert_int_equal(hz3_cache_objects(cls), 0);
    assert_int_equal(hz3_thread.cache.stored[cls], 0);
}

/* 32 KiB of objects, and both budgets. */
static void what_it_stores_is_bounded(void **state)
{
    (void)state;
    assert_int_equal(store_earned(hz3_class_of(512)), 2);
    assert_int_equal(store_earned(hz3_class_of(1024)), 1);
    assert_int_equal(store_earned(hz3_class_of(1100)), 0);
    hz3_cache_flush();
    hz3_cache_budgets(0, PLENTY);
    assert_int_equal(store_earned(hz3_class_of(48)), 0);
    hz3_cache_budgets(PLENTY, 0);
    assert_int_equal(store_earned(hz3_class_of(32)), 0);
    hz3_cache_budgets(PLENTY, PLENTY);
    size_t claimed = hz3_budget_claimed();
    unsigned cls = hz3_class_of(16), stored = store_earned(cls);
    assert_true(stored > 0);
    assert_int_equal(hz3_budget_claimed() - claimed, stored * hz3_class_info[cls].load * 16);
    hz3_cache_flush();
}

static void what_it_stores_is_given_back_when_it_no_longer_misses(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(64), other = hz3_class_of(200);
    assert_int_equal(store_earned(cls), 8);
    for (uint64_t until = hz3_os_now_ms() + 10000; hz3_thread.cache.store[cls] && hz3_os_now_ms() < until;) {
        waves(other, MOST);
        if (hz3_thread.due) hz3_reclaim_visit_slow();
    }
    assert_int_equal(hz3_thread.cache.store[cls], 0);
    assert_int_equal(hz3_thread.cache.stored[cls], 0);
    assert_true(hz3_cache_objects(cls) <= hz3_class_info[cls].load);
    hz3_cache_flush();
}

/* Even by a class that uses all of it. */
static void what_it_stores_is_given_back_when_the_budget_falls(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(64), n = 9u * hz3_class_info[cls].load;
    assert_int_equal(store_earned(cls), 8);
    hz3_cache_budgets(PLENTY, 0);
    for (uint64_t until = hz3_os_now_ms() + 10000; hz3_thread.cache.store[cls] && hz3_os_now_ms() < until;) {
        waves(cls, n);
        if (hz3_thread.due) hz3_reclaim_visit_slow();
    }
    unsigned store = hz3_thread.cache.store[cls], stored = hz3_thread.cache.stored[cls];
    hz3_cache_budgets(PLENTY, PLENTY);
    assert_int_equal(store, 0);
    assert_int_equal(stored, 0);
    hz3_cache_flush();
}

static void *store_and_wait(void *arg)
{
    unsigned cls = (unsigned)(uintptr_t)arg;
    store_earned(cls);
    waves(cls, MOST);
    CHECK(hz3_thread.cache.stored[cls] > 0);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    CHECK(hz3_thread.cache.stored[cls] == 0);
    CHECK(hz3_magazine_objects(hz3_thread.cache.top[cls]) <= 1);
    waves(cls, MOST);
    return NULL;
}

static void a_sleeper_stores_nothing_for_long(void **state)
{
    (void)state;
    if (!hz3_sleepers_can_be_emptied() || !hz3_os_barrier()) skip();
    unsigned cls = hz3_class_of(64);
    hz3_cache_flush();
    size_t before = hz3_cache_objects(cls);
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, store_and_wait, (void *)(uintptr_t)cls), 0);
    pthread_barrier_wait(&barrier);
    size_t held = hz3_cache_objects(cls) - before;
    assert_true(held > 2u * hz3_class_info[cls].load);
    hz3_gate_enter_at_last();
    hz3_lock(&hz3_threads_lock);
    for (struct hz3_registry_entry *entry = hz3_registry; entry; entry = entry->next)
        if (entry->thread != &hz3_thread) assert_true(hz3_sleeper_empty(entry->thread));
    hz3_unlock(&hz3_threads_lock);
    hz3_gate_leave();
    pthread_barrier_wait(&barrier);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void take_over(void *cls)
{
    unsigned class = *(unsigned *)cls;
    size_t objects = hz3_cache_objects(class);
    CHECK(objects > 2u * hz3_class_info[class].load);
    hz3_cache_clear_handoffs(0, 1, true); /* and what a fork left */
    CHECK(hz3_cache_objects(class) == 0);
}

static void *store_and_fork(void *arg)
{
    unsigned cls = (unsigned)(uintptr_t)arg;
    store_earned(cls);
    waves(cls, MOST);
    CHECK(hz3_thread.cache.stored[cls] > 0);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void a_child_takes_over_what_another_thread_stored(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(64);
    hz3_cache_flush();
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, store_and_fork, (void *)(uintptr_t)cls), 0);
    pthread_barrier_wait(&barrier);
    expect_success(in_child(take_over, &cls), 10);
    pthread_barrier_wait(&barrier);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(hz3_cache_objects(cls) <= hz3_cache_free_capacity(cls)); /* the handoff */
}

static void few_of_the_others_need_the_slow_path(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(64);
    capacity_earned(cls);
    size_t before = allocated();
    waves(cls, MOST);
    assert_true(exchanged > 8 * WAVES);
    assert_true(slow <= exchanged / 8);
    assert_int_equal(allocated(), before);
    hz3_cache_flush();
    assert_int_equal(hz3_cache_objects(cls), 0);
    assert_int_equal(allocated(), before);
}

/* One call in 32 exchanges nothing in any case. */
static void *exchange_if_allowed(unsigned cls)
{
    void *p = hz3_exchange_malloc(cls);
    return p ? p : hz3_exchange_malloc(cls);
}

static void nothing_is_exchanged_while_the_gate_is_closed(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(64);
    capacity_earned(cls);
    waves(cls, MOST);
    hz3_cache_flush(); /* leaves magazines for the next malloc */
    hz3_gate_close();
    void *closed = exchange_if_allowed(cls);
    hz3_gate_open();
    void *open = exchange_if_allowed(cls);
    assert_null(closed);
    assert_non_null(open);
    hz3_cache_free(open, cls);
    hz3_cache_flush();
}

/* The slow path waits for it. */
static void nothing_is_exchanged_while_a_visitor_is_there(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(64), n = 0;
    capacity_earned(cls);
    for (; n < MOST; n++) objects[n] = hz3_cache_malloc(cls);
    do hz3_cache_free(objects[--n], cls);
    while (!hz3_is_full(hz3_thread.cache.top[cls]));
    hz3_set(hz3_thread.visited, 1);
    bool freed = hz3_exchange_free(objects[n - 1], cls), inside = hz3_get(hz3_thread.inside);
    hz3_set(hz3_thread.visited, 0);
    assert_false(freed);
    assert_false(inside);
    while (n) hz3_cache_free(objects[--n], cls);
    hz3_cache_flush();
}

static void a_thread_without_magazines_exchanges_none(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(300);
    hz3_cache_flush();
    void *p = hz3_cache_malloc(cls);
    hz3_cache_flush();
    assert_null(hz3_exchange_malloc(cls));
    assert_false(hz3_exchange_free(p, cls));
    hz3_cache_free(p, cls);
}

static void *allocate_after_the_end(void *arg)
{
    unsigned cls = (unsigned)(uintptr_t)arg;
    capacity_earned(cls);
    hz3_thread.cache.capacity[cls] = (uint8_t)hz3_class_info[cls].load;
    hz3_thread.state = HZ3_THREAD_LEFT;
    hz3_thread.cache.top[cls] = hz3_thread.cache.previous[cls] = HZ3_STUB_TOP;
    void *p = hz3_exchange_malloc(cls);
    hz3_thread.state = HZ3_THREAD_JOINED;
    return p;
}

static void a_thread_that_has_left_loads_nothing(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(64);
    capacity_earned(cls);
    hz3_cache_flush(); /* magazines for others */
    pthread_t thread;
    void *p;
    assert_int_equal(pthread_create(&thread, NULL, allocate_after_the_end, (void *)(uintptr_t)cls), 0);
    assert_int_equal(pthread_join(thread, &p), 0);
    assert_null(p);
}

RUN(cmocka_unit_test(a_wave_that_fits_changes_magazines_only), cmocka_unit_test(few_of_the_others_need_the_slow_path),
    cmocka_unit_test(a_class_that_gets_back_what_it_left_stores_magazines), cmocka_unit_test(what_it_stores_is_bounded),
    cmocka_unit_test(what_it_stores_is_given_back_when_it_no_longer_misses),
    cmocka_unit_test(what_it_stores_is_given_back_when_the_budget_falls),
    cmocka_unit_test(a_sleeper_stores_nothing_for_long),
    cmocka_unit_test(a_child_takes_over_what_another_thread_stored),
    cmocka_unit_test(nothing_is_exchanged_while_the_gate_is_closed),
    cmocka_unit_test(nothing_is_exchanged_while_a_visitor_is_there),
    cmocka_unit_test(a_thread_without_magazines_exchanges_none), cmocka_unit_test(a_thread_that_has_left_loads_nothing))
