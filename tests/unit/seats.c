/* What a thread leaves in its magazines: its successor's, and nobody's for long. */
#include "unit.h"

#include "base/sizeclass.h"
#include "front/heap.h"
#include "front/seats.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 32, LEFT = 8 }; /* a class whose first magazine has all the room */

struct life {
    void *objects[LEFT]; /* malloc'd, and freed in this order */
    uint8_t owner;
    uint64_t fetched; /* mallocs that its own magazines could not serve */
};

static void *live(void *arg)
{
    struct life *life = arg;
    unsigned cls = hz3_class_of(SIZE);
    for (int i = 0; i < LEFT; i++) life->objects[i] = hz3_cache_malloc(cls);
    for (int i = 0; i < LEFT; i++) hz3_cache_free(life->objects[i], cls);
    const struct hz3_cache_stats *stats = &hz3_thread.stats;
    life->owner = hz3_thread.owner;
    life->fetched = stats->stash + stats->transfer + stats->held + stats->central + stats->fresh;
    return NULL;
}

static struct life begin_and_end(void)
{
    struct life life;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, live, &life), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return life;
}

static size_t waiting(void)
{
    return hz3_cache_objects(hz3_class_of(SIZE));
}

static void clear(bool all)
{
    hz3_cache_clear_seats(0, 1, all);
}

/* The test's own thread has nothing, and no seat is taken. */
static int start(void **state)
{
    (void)state;
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
    clear(true);
    assert_int_equal(waiting(), 0);
}

static void another_heap_does_not_take_over(void **state)
{
    (void)state;
    struct life first = begin_and_end();
    hz3_add(hz3_heaps[first.owner].threads, 100);
    struct life second = begin_and_end();
    hz3_sub(hz3_heaps[first.owner].threads, 100);
    assert_int_not_equal(second.owner, first.owner);
    assert_true(second.fetched > 0);
}

/* As the second of two threads of one heap that end. */
static void who_finds_the_seat_taken_sends_home(void **state)
{
    (void)state;
    struct life first = begin_and_end();
    size_t left = waiting();
    struct hz3_thread *taken = hz3_seat_claim(first.owner % HZ3_SEATS, true); /* so that nobody succeeds */
    assert_non_null(taken);
    struct life second = begin_and_end();
    assert_int_equal(second.owner, first.owner);
    assert_true(second.fetched > 0);
    assert_int_equal(waiting(), 0);
    hz3_seats_after_fork(true); /* still this thread's claim */
    assert_null(hz3_seat_look(first.owner % HZ3_SEATS));
    hz3_seat_vacate(first.owner % HZ3_SEATS);
    assert_true(hz3_seat_leave(taken));
    assert_int_equal(waiting(), left);
}

static void what_waits_is_a_childs_too(void **state)
{
    (void)state;
    struct life first = begin_and_end();
    size_t left = waiting();
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        struct life second = begin_and_end();
        _exit(waiting() == left && !second.fetched && second.objects[0] == first.objects[LEFT - 1] ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void *claim(void *seat)
{
    return hz3_seat_claim(*(unsigned *)seat, true);
}

static void what_a_lost_thread_claimed_is_lost(void **state)
{
    (void)state;
    unsigned seat = begin_and_end().owner % HZ3_SEATS;
    pthread_t thread;
    void *claimed;
    assert_int_equal(pthread_create(&thread, NULL, claim, &seat), 0);
    assert_int_equal(pthread_join(thread, &claimed), 0);
    assert_non_null(claimed);
    assert_false(hz3_seat_leave(claimed));
    hz3_seats_after_fork(true);
    assert_null(hz3_seat_look(seat));
    begin_and_end();
    assert_non_null(hz3_seat_look(seat));
    hz3_seats_after_fork(false);
    assert_null(hz3_seat_look(seat));
}

#define CLEARED(test) cmocka_unit_test_setup_teardown(test, start, start)
RUN(CLEARED(a_successor_takes_over), CLEARED(what_nobody_takes_over_goes_home_at_the_second_look),
    CLEARED(another_heap_does_not_take_over), CLEARED(who_finds_the_seat_taken_sends_home),
    CLEARED(what_waits_is_a_childs_too), CLEARED(what_a_lost_thread_claimed_is_lost))
