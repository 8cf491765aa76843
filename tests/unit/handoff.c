/* Handoffs: a thread's magazines go to its successor, or go home if none comes. */
#include "allocated.h"
#include "unit.h"

#include "base/sizeclass.h"
#include "front/cache.h"
#include "front/evict.h"
#include "front/heap.h"
#include "front/handoff.h"
#include "front/sleepers.h"
#include "front/threads.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include "reclaim/pass.h"
#include "reclaim/visit.h"

#include <limits.h>
#include <pthread.h>

#include "support.h"

enum { SIZE = 32, LEFT = 8 }; /* a class whose room counts in no budget */

struct life {
    void *objects[LEFT]; /* malloc'd, and freed in this order */
    uint8_t owner;
    uint64_t fetched;      /* mallocs that its own magazines could not serve */
    size_t reserved, lent; /* bytes */
};

static void *claim_of(struct life *life)
{
    life->reserved = hz3_thread.reserved;
    life->lent = hz3_get(hz3_thread.lent);
    return NULL;
}

static void *live(void *arg)
{
    struct life *life = arg;
    unsigned cls = hz3_class_of(SIZE);
    for (int i = 0; i < LEFT; i++) life->objects[i] = hz3_cache_malloc(cls);
    for (int i = 0; i < LEFT; i++) hz3_cache_free(life->objects[i], cls);
    const struct hz3_cache_stats *stats = &hz3_thread.cache.stats;
    life->owner = hz3_thread.cache.owner;
    life->fetched = stats->stash + stats->transfer + stats->held + stats->central + stats->stolen + stats->fresh;
    return claim_of(life);
}

static struct life spend(void *(*how)(void *))
{
    struct life life;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, how, &life), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return life;
}

static struct life begin_and_end(void)
{
    return spend(live);
}

static size_t waiting(void)
{
    return hz3_cache_objects(hz3_class_of(SIZE));
}

static void clear(bool all)
{
    hz3_cache_clear_handoffs(0, 1, all);
}

/* The test's own thread holds nothing, no handoff is taken, and reclaim is not due. */
static int start(void **state)
{
    (void)state;
    hz3_reclaim_start(7200 * 1000);
    hz3_cache_free(hz3_cache_malloc(hz3_class_of(SIZE)), hz3_class_of(SIZE));
    hz3_cache_flush();
    clear(true);
    return waiting() ? -1 : 0;
}

static void a_successor_takes_over(void **state)
{
    (void)state;
    struct life first = begin_and_end();
    assert_true(first.fetched > 0);
    size_t left = waiting();
    assert_true(left >= LEFT);
    struct life second = begin_and_end();
    assert_int_equal(second.owner, first.owner);
    assert_int_equal(second.fetched, 0);
    assert_ptr_equal(second.objects[0], first.objects[LEFT - 1]);
    assert_int_equal(waiting(), left);
}

static void what_nobody_takes_over_goes_home_at_the_second_look(void **state)
{
    (void)state;
    begin_and_end();
    size_t left = waiting();
    clear(false);
    assert_int_equal(waiting(), left);
    clear(false);
    assert_int_equal(waiting(), 0);
    begin_and_end();
    assert_int_equal(waiting(), left);
    hz3_reclaim_run(true);
    assert_int_equal(waiting(), 0);
}

/* It earns room for many large objects, keeps one of them, and sleeps. */
static void *earn(void *arg)
{
    enum { MANY = 100 };
    void *objects[MANY];
    unsigned cls = hz3_class_of(2048);
    live(arg);
    for (int i = 0; i < MANY; i++) objects[i] = hz3_cache_malloc(cls);
    for (int i = 1; i < MANY; i++) hz3_cache_free(objects[i], cls);
    hz3_cache_flush();
    hz3_cache_free(objects[0], cls);
    hz3_cache_lend();
    hz3_cache_lend();
    return claim_of(arg);
}

/* A magazine that a thread of the heap left; NULL: there is none.  Lane classic's stash holds no magazines. */
static struct hz3_magazine *take_left(unsigned owner, unsigned cls)
{
    struct hz3_magazine *magazine = NULL;
    (void)owner;
#ifndef HZ3_S44_OWNER_STASH_POP
    magazine = hz3_owner_stash_pop(owner, cls);
#endif
    return magazine ? magazine : hz3_transfer_pop(cls);
}

static void what_was_earned_is_given_back(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(2048);
    struct life first = spend(earn);
    assert_true(first.reserved > 0 && first.lent > 0);
    assert_int_equal(hz3_cache_objects(cls), 0);
    struct life second = begin_and_end();
    assert_int_equal(second.owner, first.owner);
    assert_int_equal(second.reserved + second.lent, 0);
    hz3_reclaim_run(true);
    second = spend(earn);
    assert_true(hz3_transfer_objects(cls) + hz3_owner_stash_objects(cls) > 0);
    for (struct hz3_magazine *left; (left = take_left(second.owner, cls)); hz3_central_take_apart(cls, left))
        assert_true(hz3_magazine_count(left) > 1); /* the single object was sent home alone */
}

enum { OWN = 16, FOREIGN = 10 };
static void *foreign[FOREIGN];

/* Ends with one magazine in which its own heap's objects and another heap's alternate. */
static void *mix(void *arg)
{
    struct life *life = arg;
    unsigned cls = hz3_class_of(2048);
    void *own[OWN];
    earn(arg);
    hz3_cache_flush();
    for (int i = 0; i < OWN; i++) own[i] = hz3_cache_malloc(cls);
    hz3_cache_flush();
    for (int i = 0; i < OWN; i++) {
        hz3_cache_free(own[i], cls);
        if (i < FOREIGN) hz3_cache_free(foreign[i], cls);
    }
    life->fetched = hz3_central_retired(cls);
    return NULL;
}

static void what_is_left_is_of_one_heap(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(2048), own = 0;
    for (int i = 0; i < FOREIGN; i++) foreign[i] = hz3_cache_malloc(cls);
    hz3_transfer_trim(cls, true);
    struct life life = spend(mix);
    assert_int_equal(hz3_central_retired(cls) - life.fetched, FOREIGN);
    for (struct hz3_magazine *left; (left = take_left(life.owner, cls)); hz3_central_take_apart(cls, left))
        for (unsigned i = left->header.floor + 1u; i <= left->header.top; i++, own++)
            assert_int_equal(hz3_owner_at(left->word[i]), life.owner);
    assert_true(own >= OWN);
}

static void another_heap_does_not_take_over(void **state)
{
    (void)state;
    struct life first = begin_and_end();
    hz3_add(hz3_heaps[first.owner].threads, 100);
    struct life second = begin_and_end();
    hz3_sub(hz3_heaps[first.owner].threads, 100);
    struct hz3_cache other;
    assert_false(hz3_handoff_take(&other, first.owner + HZ3_HANDOFFS));
    assert_int_not_equal(second.owner, first.owner);
    assert_true(second.fetched > 0);
}

/* This happens to the second of two threads of one heap that end. */
static void who_finds_the_handoff_taken_sends_home(void **state)
{
    (void)state;
    struct life first = begin_and_end();
    size_t left = waiting(), before = allocated() + left * hz3_class_size(hz3_class_of(SIZE));
    struct hz3_cache *taken = hz3_handoff_claim(first.owner % HZ3_HANDOFFS, true); /* so that no thread takes it */
    assert_non_null(taken);
    struct life second = begin_and_end();
    assert_int_equal(second.owner, first.owner);
    assert_true(second.fetched > 0);
    assert_int_equal(waiting(), 0);
    assert_int_equal(allocated(), before); /* a claimed handoff is not counted */
    hz3_handoff_after_fork(true);          /* keeps this thread's claim */
    assert_false(hz3_handoff_leave(taken));
    hz3_handoff_vacate(first.owner % HZ3_HANDOFFS);
    assert_true(hz3_handoff_leave(taken));
    assert_int_equal(waiting(), left);
}

static void take_over(void *predecessor)
{
    const struct life *first = predecessor;
    struct life second = begin_and_end();
    CHECK(!second.fetched && second.objects[0] == first->objects[LEFT - 1]);
}

static void what_waits_is_a_childs_too(void **state)
{
    (void)state;
    struct life first = begin_and_end();
    expect_success(in_child(take_over, &first), 10);
}

static void *claim(void *handoff)
{
    return hz3_handoff_claim(*(unsigned *)handoff, true);
}

static void what_a_lost_thread_claimed_is_lost(void **state)
{
    (void)state;
    unsigned handoff = begin_and_end().owner % HZ3_HANDOFFS;
    pthread_t thread;
    void *claimed;
    assert_int_equal(pthread_create(&thread, NULL, claim, &handoff), 0);
    assert_int_equal(pthread_join(thread, &claimed), 0);
    assert_non_null(claimed);
    assert_false(hz3_handoff_leave(claimed));
    hz3_handoff_after_fork(true);
    assert_null(hz3_handoff_look(handoff));
    begin_and_end();
    assert_non_null(hz3_handoff_look(handoff));
    hz3_handoff_after_fork(false);
    assert_null(hz3_handoff_look(handoff));
}

static void leave_again(void *handoff)
{
    begin_and_end();
    CHECK(hz3_handoff_look(*(unsigned *)handoff));
}

static void a_child_can_use_what_another_thread_was_clearing(void **state)
{
    (void)state;
    unsigned handoff = begin_and_end().owner % HZ3_HANDOFFS;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, claim, &handoff), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_success(in_child(leave_again, &handoff), 10);
    hz3_handoff_vacate(handoff);
}

static pthread_key_t others;
static enum hz3_thread_state states[PTHREAD_DESTRUCTOR_ITERATIONS];
static unsigned endings;

static void end_again(void *unused)
{
    states[endings++] = hz3_thread.state;
    if (endings < PTHREAD_DESTRUCTOR_ITERATIONS) CHECK(pthread_setspecific(others, unused) == 0);
}

/* Builds as much as makes a thread worth a cache to the end. */
static void *build(void *unused)
{
    enum { BUILT = 5000 };
    static void *built[BUILT];
    unsigned cls = hz3_class_of(SIZE);
    CHECK(pthread_setspecific(others, built) == 0);
    for (int i = 0; i < BUILT; i++) built[i] = hz3_cache_malloc(cls);
    for (int i = 0; i < BUILT; i++) hz3_cache_free(built[i], cls);
    return unused;
}

extern void __tsan_init(void) __attribute__((weak));

/* For ThreadSanitizer a thread has ended before its last destructors. */
static void destructors_of_others_have_a_cache(void **state)
{
    (void)state;
    if (&__tsan_init) skip();
    pthread_t thread;
    assert_int_equal(pthread_key_create(&others, end_again), 0);
    assert_int_equal(pthread_create(&thread, NULL, build, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_key_delete(others), 0);
    assert_int_equal(endings, PTHREAD_DESTRUCTOR_ITERATIONS);
    for (int i = 0; i < PTHREAD_DESTRUCTOR_ITERATIONS - 2; i++) assert_int_equal(states[i], HZ3_THREAD_JOINED);
    assert_int_equal(states[PTHREAD_DESTRUCTOR_ITERATIONS - 1], HZ3_THREAD_LEFT); /* for good */
}

#define CLEARED(test) cmocka_unit_test_setup_teardown(test, start, start)
RUN(CLEARED(a_successor_takes_over), CLEARED(what_nobody_takes_over_goes_home_at_the_second_look),
    CLEARED(what_was_earned_is_given_back), CLEARED(what_is_left_is_of_one_heap),
    CLEARED(another_heap_does_not_take_over), CLEARED(who_finds_the_handoff_taken_sends_home),
    CLEARED(what_waits_is_a_childs_too), CLEARED(what_a_lost_thread_claimed_is_lost),
    CLEARED(a_child_can_use_what_another_thread_was_clearing), CLEARED(destructors_of_others_have_a_cache))
