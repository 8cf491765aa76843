/* Budgets: threads earn capacity within them, lend it while they sleep, give back what is too much, and leave the rest
 * to their successors. */
#include "unit.h"

#include "base/sizeclass.h"
#include "front/budget.h"
#include "front/cache.h"
#include "front/evict.h"
#include "front/sleepers.h"
#include "front/threads.h"
#include "os/lock.h"
#include "reclaim/pass.h"
#include "reclaim/visit.h"

#include <limits.h>
#include <pthread.h>
#include <semaphore.h>

#include "earn.h"
#include "support.h"

static void capacity_is_earned_within_both_budgets(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(1024), any = hz3_class_of(64);
    hz3_cache_free(hz3_cache_malloc(any), any); /* the thread joins */
    unsigned first = hz3_thread.cache.capacity[cls];
    assert_true(first < hz3_class_info[cls].load);
    hz3_cache_budgets(0, SIZE_MAX);
    assert_int_equal(capacity_earned(cls), first);
    hz3_cache_budgets(SIZE_MAX, 0);
    assert_int_equal(capacity_earned(cls), first);
    hz3_cache_budgets(PLENTY, PLENTY);
    assert_int_equal(capacity_earned(cls), hz3_class_info[cls].load);
    hz3_cache_flush();
}

/* Threads that stay, and run a function whenever the test gives them one. */
enum { CROWD = 8 };
static struct member {
    pthread_t thread;
    sem_t go, done;
    void (*act)(struct member *member);
    size_t claimed, lent, held;   /* bytes */
    unsigned first, second, gave; /* capacities */
    uint32_t slow_calls;
    void *taken;
} crowd[CROWD];

static void *act_when_told(void *arg)
{
    for (struct member *member = arg; sem_wait(&member->go), member->act; sem_post(&member->done)) member->act(member);
    return NULL;
}

static void tell(struct member *member, void (*act)(struct member *member))
{
    member->act = act;
    sem_post(&member->go);
    if (act) sem_wait(&member->done);
}

static void comes(struct member *member)
{
    sem_init(&member->go, 0, 0);
    sem_init(&member->done, 0, 0);
    assert_int_equal(pthread_create(&member->thread, NULL, act_when_told, member), 0);
}

static void goes(struct member *member)
{
    tell(member, NULL);
    pthread_join(member->thread, NULL);
}

/* The lock keeps reclaim from passing an epoch until crowd_goes. */
static int crowd_comes(void **state)
{
    (void)state;
    for (int i = 0; i < CROWD; i++) comes(&crowd[i]);
    hz3_lock(&hz3_reclaim_lock);
    return 0;
}

static int crowd_goes(void **state)
{
    (void)state;
    hz3_unlock(&hz3_reclaim_lock);
    for (int i = 0; i < CROWD; i++) goes(&crowd[i]);
    hz3_cache_budgets(PLENTY, PLENTY);
    return 0;
}

enum { LARGE = 1025 }; /* from this size on, all capacity has to be claimed */

/* The bytes that both magazines of all large classes hold together. */
static size_t full_load(void)
{
    size_t bytes = 0;
    for (unsigned cls = hz3_class_of(LARGE); cls <= HZ3_CLASSES; cls++)
        bytes += 2 * hz3_class_info[cls].load * hz3_class_size(cls);
    return bytes;
}

static void claim_and_hold(struct member *self)
{
    for (unsigned cls = hz3_class_of(LARGE); cls <= HZ3_CLASSES; cls++) earn(cls);
    self->claimed = hz3_thread.reserved;
}

static void claim_much(struct member *self)
{
    claim_and_hold(self);
    hz3_cache_flush();
}

static void take_one(struct member *self)
{
    self->taken = hz3_cache_malloc(HZ3_CLASSES);
}

static void put_one(struct member *self)
{
    hz3_cache_free(self->taken, HZ3_CLASSES);
}

static void take_in_turn(struct member *self)
{
    unsigned cls = hz3_class_of(64);
    void *p = hz3_cache_malloc(cls);
    self->first = hz3_thread.cache.capacity[cls];
    hz3_cache_free(p, cls);
    self->second = earn(cls);
    self->claimed = hz3_thread.reserved;
    hz3_cache_flush();
}

/* A thread that allocates little takes little, and one that allocates more need not claim room for it. */
static void small_classes_start_small_and_grow_for_nothing(void **state)
{
    (void)state;
    hz3_cache_budgets(0, 0);
    tell(&crowd[0], take_in_turn);
    assert_in_range(crowd[0].first * 64, 64, 256);
    assert_int_equal(crowd[0].second * 64, 1024);
    assert_int_equal(crowd[0].claimed, 0);
}

static void who_comes_late_finds_room_and_who_has_much_gives_it_back(void **state)
{
    (void)state;
    size_t full = full_load(), left = 6 * full;
    hz3_cache_budgets(PLENTY, left);
    for (int i = 0; i < CROWD; i++) {
        tell(&crowd[i], claim_much);
        assert_in_range(crowd[i].claimed, left / 16, left / 4);
        left -= crowd[i].claimed;
    }
    assert_int_equal(crowd[0].claimed, full);
    assert_true(left < 2 * full);
    tell(&crowd[0], claim_much);
    left += full - crowd[0].claimed;
    assert_in_range(crowd[0].claimed, left / 8, left / 2);
}

/* A thread may have joined before the options were read. */
static void what_is_claimed_counts_when_the_budget_changes(void **state)
{
    (void)state;
    struct member self;
    size_t full = full_load();
    claim_and_hold(&self);
    assert_true(self.claimed >= full);
    hz3_cache_budgets(PLENTY, full / 4);
    claim_and_hold(&self);
    hz3_cache_budgets(PLENTY, PLENTY);
    hz3_cache_flush();
    assert_in_range(self.claimed, 1, full / 8);
}

static void do_little(struct member *self)
{
    (void)self;
    hz3_cache_flush();
    hz3_cache_free(hz3_cache_malloc(hz3_class_of(64)), hz3_class_of(64));
}

/* A thread that made no slow call between two looks counts as asleep. */
static void lend(void)
{
    hz3_cache_lend();
    hz3_cache_lend();
}

static void look(struct member *self)
{
    self->slow_calls = hz3_thread.slow_calls;
    self->claimed = hz3_thread.reserved;
    self->lent = hz3_get(hz3_thread.lent);
    self->held = 0;
    for (unsigned cls = hz3_class_of(LARGE); cls <= HZ3_CLASSES; cls++)
        self->held += hz3_class_size(cls) * (hz3_magazine_objects(hz3_thread.cache.top[cls]) +
                                             hz3_magazine_objects(hz3_thread.cache.previous[cls]));
}

static void who_sleeps_lends_what_it_does_not_hold(void **state)
{
    (void)state;
    struct member *first = &crowd[0], *last = &crowd[CROWD - 1];
    size_t total = 2 * full_load();
    hz3_cache_budgets(PLENTY, total);
    tell(first, claim_and_hold);
    hz3_cache_lend();
    tell(first, look);
    assert_int_equal(first->lent, 0); /* it made slow calls before this look */
    hz3_cache_lend();
    tell(first, look);
    assert_true(first->held > 0 && first->lent > 0);
    assert_int_equal(first->lent, first->claimed - first->held);
    uint32_t slow_calls = first->slow_calls;
    for (int i = 0; i < 20; i++) { /* it wakes without a slow call, which only the next look notices */
        tell(first, i % 2 ? put_one : take_one);
        hz3_cache_lend();
        tell(first, look);
        assert_int_equal(first->lent, first->claimed - first->held);
    }
    assert_int_equal(first->slow_calls, slow_calls);
    tell(first, do_little);
    tell(first, look);
    assert_int_equal(first->held + first->lent, 0);
    for (int i = 1; i < CROWD; i++) tell(&crowd[i], claim_much);
    assert_in_range(last->claimed, 1, total / 16);
    lend();
    tell(last, claim_much);
    assert_in_range(last->claimed, total / 8, total / 4);
}

static pthread_key_t late;
static int freed_late;

/* A thread that claimed much leaves before the last round of destructors only. */
static void free_late(void *p)
{
    static int round;
    if (++round % PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(late, p);
        return;
    }
    freed_late += hz3_thread.state == HZ3_THREAD_LEFT;
    hz3_cache_free(p, hz3_class_of(64));
}

static void claim_much_and_free_late(struct member *self)
{
    pthread_setspecific(late, hz3_cache_malloc(hz3_class_of(64)));
    claim_much(self);
}

static void what_a_thread_had_is_left_for_the_next(void **state)
{
    (void)state;
    enum { TOTAL = 16 << 20, ROUNDS = 60 };
    hz3_cache_budgets(PLENTY, TOTAL);
    assert_int_equal(pthread_key_create(&late, free_late), 0);
    for (int i = 0; i < ROUNDS; i++) {
        tell(&crowd[0], i % 2 ? claim_much_and_free_late : claim_much);
        assert_in_range(crowd[0].claimed, TOTAL / 16, TOTAL / 4);
        if (i % 3 > 0) lend();
        if (i % 3 > 1) tell(&crowd[0], do_little); /* takes it back */
        goes(&crowd[0]);
        comes(&crowd[0]);
    }
    pthread_key_delete(late);
    assert_int_equal(freed_late, ROUNDS / 2);
}

static void claim_one_class(struct member *self)
{
    self->first = earn(hz3_class_of(16384));
    hz3_cache_flush();
}

static void who_does_little_leaves_room_for_others(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(16384), load = hz3_class_info[cls].load;
    hz3_cache_budgets(PLENTY, 2 * load * hz3_class_size(cls) * (CROWD - 1));
    for (int i = 1; i < CROWD; i++) tell(&crowd[i], do_little);
    tell(&crowd[0], claim_one_class);
    assert_int_equal(crowd[0].first, load);
}

static void claim_two_classes(struct member *self)
{
    unsigned large = hz3_class_of(32768), small = hz3_class_of(16384);
    unsigned before = earn(large);
    void *objects[2 * HZ3_MAGAZINE_LAST];
    for (unsigned i = 0; i < 2 * before; i++) objects[i] = hz3_cache_malloc(large);
    for (unsigned i = 0; i < 2 * before; i++) hz3_cache_free(objects[i], large);
    self->second = earn(small);
    self->first = hz3_thread.cache.capacity[large];
    self->gave = before - self->first;
    look(self);
    hz3_cache_flush();
}

static void a_class_that_misses_gets_room_from_another(void **state)
{
    (void)state;
    const size_t budget = 512 << 10;
    hz3_cache_budgets(budget, PLENTY);
    tell(&crowd[0], claim_two_classes);
    assert_in_range(crowd[0].claimed, 1, budget);
    assert_in_range(crowd[0].held, 1, crowd[0].claimed);
    assert_true(crowd[0].gave > 0 && crowd[0].first > 0 && crowd[0].second >= crowd[0].first);
}

static void the_class_whose_slow_path_is_under_way_gives_no_magazine(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(LARGE), load = hz3_class_info[cls].load;
    void *objects[2 * HZ3_MAGAZINE_LAST + 1];
    assert_int_equal(capacity_earned(cls), load);
    for (unsigned i = 0; i < 2 * load + 1; i++) assert_non_null(objects[i] = hz3_cache_malloc(cls));
    hz3_cache_flush();
    for (unsigned i = 0; i < 2 * load; i++) hz3_cache_free(objects[i], cls);
    hz3_cache_budgets(0, PLENTY);
    hz3_thread.cache.donor = (uint8_t)(cls - 1);
    hz3_cache_free(objects[2 * load], cls);
    hz3_cache_budgets(PLENTY, PLENTY);
    assert_int_equal(hz3_thread.cache.donor, cls);
    assert_int_equal(hz3_thread.cache.capacity[cls], load - load / 2);
    assert_int_equal(hz3_cache_objects(cls), load + 1);
    hz3_cache_flush();
}

static void what_was_earned_is_given_back_after_a_flush_too(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(900), other = hz3_class_of(64), first = hz3_thread.cache.capacity[cls];
    assert_int_equal(capacity_earned(cls), hz3_class_info[cls].load);
    for (uint64_t until = hz3_os_now_ms() + 10000; hz3_thread.cache.capacity[cls] > first && hz3_os_now_ms() < until;) {
        hz3_cache_flush();
        hz3_cache_free(hz3_cache_malloc(other), other);
        if (hz3_thread.due) hz3_reclaim_visit_slow();
    }
    assert_int_equal(hz3_thread.cache.capacity[cls], first);
}

/* Otherwise the budgets would not bound what all caches hold. */
static void what_is_held_falls_with_the_capacity(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(800), other = hz3_class_of(64), first = hz3_thread.cache.capacity[cls];
    assert_int_equal(capacity_earned(cls), hz3_class_info[cls].load);
    assert_true(hz3_cache_objects(cls) > first);
    for (uint64_t until = hz3_os_now_ms() + 10000; hz3_thread.cache.capacity[cls] > first && hz3_os_now_ms() < until;) {
        void *objects[40];
        for (int i = 0; i < 40; i++) objects[i] = hz3_cache_malloc(other);
        for (int i = 0; i < 40; i++) hz3_cache_free(objects[i], other);
        if (hz3_thread.due) hz3_reclaim_visit_slow();
    }
    assert_int_equal(hz3_thread.cache.capacity[cls], first);
    assert_true(hz3_cache_objects(cls) <= first);
}

static void count_and_claim(void *cls)
{
    unsigned users = 0, other = *(unsigned *)cls + 1;
    for (unsigned i = 0; i < hz3_heap_count; i++) users += hz3_get(hz3_heaps[i].threads);
    CHECK(users == 1 && hz3_get(hz3_thread.lent) == 0);
    CHECK(earn(other) == hz3_class_info[other].load);
}

/* Another thread may have been joining, or changing its part of the budget, when the process forked. */
static void a_child_counts_its_only_thread(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(LARGE);
    hz3_cache_budgets(PLENTY, SIZE_MAX);
    assert_int_equal(earn(cls), hz3_class_info[cls].load);
    hz3_cache_flush();
    lend();
    assert_true(hz3_get(hz3_thread.lent) > 0);
    hz3_add(hz3_heaps[0].threads, 1); /* as join() does first */
    expect_success(in_child(count_and_claim, &cls), 10);
    hz3_sub(hz3_heaps[0].threads, 1);
}

RUN(cmocka_unit_test(capacity_is_earned_within_both_budgets),
    cmocka_unit_test_setup_teardown(small_classes_start_small_and_grow_for_nothing, crowd_comes, crowd_goes),
    cmocka_unit_test_setup_teardown(who_comes_late_finds_room_and_who_has_much_gives_it_back, crowd_comes, crowd_goes),
    cmocka_unit_test(what_is_claimed_counts_when_the_budget_changes),
    cmocka_unit_test_setup_teardown(who_sleeps_lends_what_it_does_not_hold, crowd_comes, crowd_goes),
    cmocka_unit_test_setup_teardown(what_a_thread_had_is_left_for_the_next, crowd_comes, crowd_goes),
    cmocka_unit_test_setup_teardown(who_does_little_leaves_room_for_others, crowd_comes, crowd_goes),
    cmocka_unit_test_setup_teardown(a_class_that_misses_gets_room_from_another, crowd_comes, crowd_goes),
    cmocka_unit_test(the_class_whose_slow_path_is_under_way_gives_no_magazine),
    cmocka_unit_test(what_was_earned_is_given_back_after_a_flush_too),
    cmocka_unit_test(what_is_held_falls_with_the_capacity), cmocka_unit_test(a_child_counts_its_only_thread))
