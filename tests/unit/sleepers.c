/* Sleepers: their magazines are emptied, but for an object of each class where they may be about to take it, and no
 * object is lost or handed out twice, whatever they do between the visitor's steps. */
#include "unit.h"

#include "base/sizeclass.h"
#include "front/budget.h"
#include "front/cache.h"
#include "front/evict.h"
#include "middle/transfer_cache.h"
#include "os/sandbox.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "earn.h"
#include "support.h"
#include "visit.h"

enum { SIZES = 4, OBJECTS = 40 };
static const size_t size_of[SIZES] = {64, 512, 3000, 20000};
static pthread_barrier_t barrier;
static unsigned looks_asleep, looks; /* a visited thread seems asleep for the first so many looks */

bool __wrap_hz3_os_is_asleep(int thread, const void *stack_end);
bool __wrap_hz3_os_is_asleep(int thread, const void *stack_end)
{
    (void)thread, (void)stack_end;
    return looks++ < looks_asleep;
}

static void take_and_free(void **held)
{
    for (int round = 0; round < 8; round++) {
        for (unsigned i = 0; i < SIZES * OBJECTS; i++) held[i] = hz3_cache_malloc(hz3_class_of(size_of[i % SIZES]));
        for (unsigned i = 0; i < SIZES * OBJECTS; i++) hz3_cache_free(held[i], hz3_class_of(size_of[i % SIZES]));
    }
}

static size_t held_of(unsigned i)
{
    return hz3_cache_count(&hz3_thread.cache, hz3_class_of(size_of[i]));
}

static void *sleep_and_go_on(void *unused)
{
    void *held[SIZES * OBJECTS];
    take_and_free(held);
    for (unsigned i = 0; i < SIZES; i++) CHECK(held_of(i) > 1);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < SIZES; i++) CHECK(held_of(i) <= !looks_asleep);
    take_and_free(held);
    return unused;
}

static void what_a_sleeper_held_goes_back(void **state)
{
    (void)state;
    if (!hz3_sleepers_can_be_emptied() || !hz3_os_barrier()) skip();
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    for (looks_asleep = 0; looks_asleep <= 2; looks_asleep += 2) {
        pthread_t thread = start_thread(sleep_and_go_on, NULL);
        pthread_barrier_wait(&barrier);
        looks = 0;
        assert_int_equal(visit_all(), 1);
        size_t left = 0;
        for (unsigned i = 0; i < SIZES; i++) left += hz3_cache_objects(hz3_class_of(size_of[i]));
        pthread_barrier_wait(&barrier);
        join_thread(thread);
        assert_true(left <= (looks_asleep ? 0 : SIZES));
        hz3_cache_clear_handoffs(0, 1, true);
    }
    looks_asleep = 0;
}

static void *wake_without_a_slow_call(void *unused)
{
    unsigned cls = hz3_class_of(512);
    void *held[HZ3_MAGAZINE_LAST];
    size_t count = 0;
    earn(cls);
    while (hz3_magazine_objects(hz3_thread.cache.top[cls]) > 1) held[count++] = hz3_cache_malloc(cls);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    uint32_t calls = hz3_thread.slow_calls;
    for (size_t i = 0; i < count; i++) hz3_cache_free(held[i], cls);
    CHECK(count > 1 && hz3_thread.slow_calls == calls);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return unused;
}

static void who_slept_twice_is_emptied_twice(void **state)
{
    (void)state;
    if (!hz3_sleepers_can_be_emptied() || !hz3_os_barrier()) skip();
    hz3_cache_budgets(PLENTY, PLENTY);
    pthread_t thread = start_thread(wake_without_a_slow_call, NULL);
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        pthread_barrier_wait(&barrier);
        for (int looks_at = 0; looks_at < 4; looks_at++) hz3_cache_lend();
        hz3_cache_empty_sleepers(SIZES);
        assert_true(hz3_cache_objects(hz3_class_of(512)) <= 1);
        pthread_barrier_wait(&barrier);
    }
    join_thread(thread);
    hz3_cache_clear_handoffs(0, 1, true);
}

enum { NINE = 9, MANY = 600, AT_A_LOOK = 256 };
static pthread_barrier_t all_sleep;

static void *earn_and_sleep(void *unused)
{
    earn(hz3_class_of(512));
    pthread_barrier_wait(&all_sleep);
    pthread_barrier_wait(&all_sleep);
    return unused;
}

static unsigned never_looked_at(void)
{
    unsigned count = 0;
    hz3_lock(&hz3_threads_lock);
    for (struct hz3_registry_entry *entry = hz3_registry; entry; entry = entry->next)
        count += entry->thread != &hz3_thread && !entry->thread->calls_before;
    hz3_unlock(&hz3_threads_lock);
    return count;
}

/* Each look takes as long as it would with hundreds. */
static void thousands_are_looked_at_by_turns(void **state)
{
    (void)state;
    static pthread_t thread[MANY];
    assert_int_equal(pthread_barrier_init(&all_sleep, NULL, MANY + 1), 0);
    hz3_cache_budgets(PLENTY, PLENTY);
    for (int i = 0; i < MANY; i++) thread[i] = start_thread(earn_and_sleep, NULL);
    pthread_barrier_wait(&all_sleep);
    for (unsigned left = never_looked_at(), before = MANY; left; before = left, left = never_looked_at()) {
        assert_in_range(left, before - AT_A_LOOK, before);
        hz3_cache_lend();
    }
    hz3_cache_lend();
    pthread_barrier_wait(&all_sleep); /* those end on which the walk stands */
    for (int i = 0; i < MANY; i++) join_thread(thread[i]);
    bool there = !hz3_registry_next[HZ3_WALK_LEND];
    for (struct hz3_registry_entry *entry = hz3_registry; entry; entry = entry->next)
        there |= entry == hz3_registry_next[HZ3_WALK_LEND];
    assert_true(there);
    hz3_cache_clear_handoffs(0, 1, true);
}

static void one_call_comes_to_all_who_sleep(void **state)
{
    (void)state;
    pthread_t threads[NINE];
    if (!hz3_sleepers_can_be_emptied() || !hz3_os_barrier()) skip();
    hz3_cache_budgets(PLENTY, PLENTY);
    assert_int_equal(pthread_barrier_init(&all_sleep, NULL, NINE + 1), 0);
    for (int i = 0; i < NINE; i++) threads[i] = start_thread(earn_and_sleep, NULL);
    pthread_barrier_wait(&all_sleep);
    for (int looks_at = 0; looks_at < 4; looks_at++) hz3_cache_lend();
    assert_true(hz3_cache_objects(hz3_class_of(512)) > NINE);
    hz3_cache_empty_sleepers(64);
    assert_true(hz3_cache_objects(hz3_class_of(512)) <= NINE);
    pthread_barrier_wait(&all_sleep);
    for (int i = 0; i < NINE; i++) join_thread(threads[i]);
    hz3_cache_clear_handoffs(0, 1, true);
}

/* A full magazine that was emptied whole has no room: it is full and empty at once, as the stub is. */
static void a_magazine_without_room_goes_on(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(512);
    earn(cls);
    void *p = hz3_cache_malloc(cls), *q = hz3_cache_malloc(cls);
    hz3_cache_flush();
    hz3_thread.cache.top[cls] = hz3_magazine_open(hz3_magazine_get(cls), 0);
    assert_true(hz3_cache_free_during_fork(p, cls));
    struct hz3_magazine *pushed = hz3_transfer_pop(cls);
    assert_non_null(pushed);
    assert_int_equal(hz3_magazine_count(pushed), 1);
    hz3_central_take_apart(cls, pushed);
    hz3_cache_free(q, cls);
    assert_ptr_equal(hz3_cache_malloc(cls), q);
    hz3_cache_flush();
    hz3_thread.cache.top[cls] = hz3_magazine_open(hz3_magazine_get(cls), 0);
    for (int i = 0; i < 100; i++) assert_non_null(hz3_cache_malloc(cls));
}

static void *claim_and_vanish(void *unused)
{
    for (unsigned i = 0; i < SIZES; i++) earn(hz3_class_of(size_of[i]));
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    syscall(SYS_exit, 0);
    return unused;
}

extern void __asan_init(void) __attribute__((weak));

/* Whether it lent some before or not.  (musl's pthread_join waits for such a thread for ever.  AddressSanitizer takes
 * the next thread on its stack for the same.) */
static void what_a_thread_claimed_is_given_back_if_it_ends_without_destructors(void **state)
{
    (void)state;
#ifndef __GLIBC__
    skip();
#endif
    if (&__asan_init) skip();
    hz3_cache_budgets(PLENTY, PLENTY);
    for (int lends = 0; lends < 2; lends++) {
        size_t before = hz3_budget_claimed();
        pthread_t thread = start_thread(claim_and_vanish, NULL);
        pthread_barrier_wait(&barrier);
        size_t claimed = hz3_budget_claimed();
        assert_true(claimed > before);
        for (int i = 0; i < 2 * lends; i++) hz3_cache_lend();
        assert_true(lends ? hz3_budget_claimed() < claimed : hz3_budget_claimed() == claimed);
        pthread_barrier_wait(&barrier);
        join_thread(thread);
        hz3_threads_reap();
        assert_int_equal(hz3_budget_claimed(), before);
    }
}

/* ---- what a thread may do between the visitor's two barriers ---- */

enum { FULL = 10 };
static struct hz3_outbox *no_outbox;
static struct hz3_thread woken = {.outbox = &no_outbox};
/* It pops so many objects, as if it had read them before the exchange, then pushes some. */
static unsigned pops, pushes;
/* It popped all before the visitor came, and pushes them while the visitor takes them: so many after that took their
 * words, the others before. */
static unsigned late;
static void *popped[FULL];
static int barriers;

bool __real_hz3_os_barrier(void);
bool __wrap_hz3_os_barrier(void);
bool __wrap_hz3_os_barrier(void)
{
    void ***top = &woken.cache.top[hz3_class_of(512)];
    if (++barriers == 2) {
        if (pops) *top -= pops;
        for (unsigned i = 0; i < pushes; i++) *++*top = popped[pops - 1 - i];
        for (unsigned i = 0; i < late; i++) (*top)[1 - FULL + (int)i] = popped[FULL - 1 - i];
    }
    return __real_hz3_os_barrier();
}

/* Fills a magazine of the woken thread, the topmost object last.  popped: the objects as it would pop them. */
static void fill_magazine(unsigned cls)
{
    for (unsigned i = 0; i < HZ3_CLASS_VALUES; i++) woken.cache.top[i] = woken.cache.previous[i] = HZ3_STUB_TOP;
    void **top = hz3_magazine_open(hz3_magazine_get(cls), FULL);
    for (unsigned i = FULL; i-- > 0;) *++top = popped[i] = hz3_cache_malloc(cls);
    woken.cache.top[cls] = top;
}

static void skip_without_barrier(void)
{
    if (!hz3_sleepers_can_be_emptied() || !__real_hz3_os_barrier()) skip();
}

static void expect_no_object_shared(void)
{
    unsigned cls = hz3_class_of(512);
    skip_without_barrier();
    for (pops = 0; pops <= FULL; pops++)
        for (pushes = 0; pushes <= pops; pushes++) {
            fill_magazine(cls);
            uint64_t retired = hz3_central_retired(cls);
            barriers = 0;
            looks = 0;
            assert_true(hz3_sleeper_empty(&woken));
            retired = hz3_central_retired(cls) - retired;
            size_t left = hz3_magazine_objects(woken.cache.top[cls]);
            for (size_t i = 0; i < left; i++) assert_non_null(woken.cache.top[cls][-(ptrdiff_t)i]);
            assert_null(woken.cache.top[cls][-(ptrdiff_t)left]); /* the floor */
            assert_int_equal(left + retired + pops - pushes, FULL);
            /* The topmost object stays if the thread may be about to take it. */
            if (looks_asleep == 2) assert_int_equal(left, pushes);
            if (looks_asleep < 2 && pops - pushes < FULL)
                assert_ptr_equal(*woken.cache.top[cls], popped[pops - pushes]);
            for (unsigned i = 0; i < pops - pushes; i++) hz3_cache_free(popped[i], cls);
            hz3_central_take_apart(cls, hz3_magazine_close(woken.cache.top[cls]));
        }
}

static void who_wakes_meanwhile_shares_no_object(void **state)
{
    (void)state;
    for (looks_asleep = 0; looks_asleep <= 2; looks_asleep++) expect_no_object_shared();
    looks_asleep = 0;
}

static void who_frees_while_the_visitor_takes_loses_no_object(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(512);
    skip_without_barrier();
    pops = pushes = 0;
    for (late = 1; late < FULL; late++) {
        fill_magazine(cls);
        barriers = 0;
        assert_true(hz3_sleeper_empty(&woken));
        void **top = woken.cache.top[cls];
        assert_int_equal(hz3_magazine_objects(top), FULL);
        for (int i = 0; i < FULL; i++) assert_ptr_equal(top[-i], popped[i]);
        hz3_central_take_apart(cls, hz3_magazine_close(top));
    }
    late = 0;
}

/* As a fork leaves it to a child that interrupted the wait for a visitor.  topmost: whether it took that, too. */
static void lose_the_visitor(void *topmost)
{
    unsigned cls = hz3_class_of(3000);
    earn(cls);
    void **top = hz3_thread.cache.top[cls];
    size_t objects = hz3_magazine_objects(top), previous = hz3_cache_count(&hz3_thread.cache, cls) - objects;
    CHECK(objects > 2);
    for (size_t i = topmost ? 0 : 1; i < objects; i++) top[-(ptrdiff_t)i] = NULL;
    hz3_set(hz3_thread.visited, 1);
    hz3_cache_after_fork(false);
    CHECK(hz3_cache_count(&hz3_thread.cache, cls) == previous + !topmost);
    hz3_cache_flush();
    for (int i = 0; i < 100; i++) CHECK(hz3_cache_malloc(cls));
}

static void a_child_waits_for_no_visitor(void **state)
{
    expect_success(in_child(lose_the_visitor, NULL), 10);
    expect_success(in_child(lose_the_visitor, state), 10);
}

static void visit_behind_a_filter(void *unused)
{
    (void)unused;
    fill_magazine(hz3_class_of(512));
    hz3_sandbox_enter(false);
    CHECK(!hz3_sleeper_empty(&woken));
    CHECK(hz3_sleepers_can_be_emptied());
}

static void what_a_filter_might_forbid_one_thread_others_may_do(void **state)
{
    (void)state;
    if (!hz3_sleepers_can_be_emptied() || !hz3_os_barrier()) skip();
    expect_success(in_child(visit_behind_a_filter, NULL), 10);
}

RUN(cmocka_unit_test(what_a_sleeper_held_goes_back), cmocka_unit_test(who_slept_twice_is_emptied_twice),
    cmocka_unit_test(one_call_comes_to_all_who_sleep), cmocka_unit_test(thousands_are_looked_at_by_turns),
    cmocka_unit_test(what_a_thread_claimed_is_given_back_if_it_ends_without_destructors),
    cmocka_unit_test(who_wakes_meanwhile_shares_no_object),
    cmocka_unit_test(who_frees_while_the_visitor_takes_loses_no_object), cmocka_unit_test(a_child_waits_for_no_visitor),
    cmocka_unit_test(what_a_filter_might_forbid_one_thread_others_may_do),
    cmocka_unit_test(a_magazine_without_room_goes_on))
