/* Two cases that the models of the lock (tests/model) leave out.  A release may be interrupted before it wakes the
 * sleeper, by a signal handler that forks and has to wait for that sleeper; and ids wrap. */
#define _GNU_SOURCE
#include "unit.h"

#include "os/lock.c" /* for last_id */

#include <pthread.h>
#include <time.h>

static struct hz3_lock lock;

static void *visit(void *unused)
{
    hz3_lock(&lock);
    hz3_unlock(&lock);
    return unused;
}

static void a_sleeper_needs_no_wake(void **state)
{
    (void)state;
    pthread_t sleeper;
    struct timespec until;
    hz3_lock(&lock);
    assert_int_equal(pthread_create(&sleeper, NULL, visit, NULL), 0);
    while (!(hz3_get(lock.word) & 1)) hz3_pause();
    hz3_os_wait(&lock.word, hz3_get(lock.word), 5); /* until the other thread sleeps */
    hz3_set(lock.word, 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    assert_int_equal(pthread_timedjoin_np(sleeper, NULL, &until), 0);
}

static void ids_wrap_past_0(void **state)
{
    (void)state;
    uint32_t mine = hz3_lock_id, before = hz3_get(last_id);
    hz3_set(last_id, UINT32_MAX - 3);
    assert_int_equal(hz3_lock_new_id(), UINT32_MAX - 1);
    assert_int_equal(hz3_lock_new_id(), 2);
    assert_int_equal(hz3_lock_self(), 2);
    hz3_set(last_id, before);
    hz3_lock_id = mine;
}

RUN(cmocka_unit_test(a_sleeper_needs_no_wake), cmocka_unit_test(ids_wrap_past_0))
