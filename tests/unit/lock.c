/* What the models of the lock (tests/model) leave out: a release that is cut short before it wakes anybody, which is
 * where a signal handler may land that forks and so waits for whoever sleeps. */
#define _GNU_SOURCE
#include "unit.h"

#include "os/lock.h"

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
    hz3_os_wait(&lock.word, hz3_get(lock.word), 5); /* it falls asleep */
    hz3_set(lock.word, 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    assert_int_equal(pthread_timedjoin_np(sleeper, NULL, &until), 0);
}

RUN(cmocka_unit_test(a_sleeper_needs_no_wake))
