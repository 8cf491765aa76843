/* Proves that a signal handler may fork anywhere, also inside the allocator.  Neither the parent, which goes on with
 * the interrupted call, nor the child, which only exits, hangs. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "churn.h"

enum { ENOUGH = 1500, LIVE = 64 };
static const double seconds = 2;

static volatile sig_atomic_t forks;

/* The handler sets the timer anew.  With an interval timer a slow machine would do nothing but handle signals. */
static void ring_soon(void)
{
    static uint64_t seed = 1;
    struct itimerval soon = {.it_value = {.tv_usec = 20 + (suseconds_t)(next_random(&seed) % 400)}};
    setitimer(ITIMER_REAL, &soon, NULL);
}

static void fork_again(int signal)
{
    int saved = errno;
    fork_here(signal);
    forks++;
    errno = saved;
    ring_soon();
}

/* Large and small blocks alternate with trims, so that most time is spent in slow paths, which take locks. */
static void allocate_under_signals(void)
{
    void *live[LIVE] = {0};
    uint64_t seed = 2;
    double until = now() + seconds;
    ring_soon();
    for (uint64_t i = 0; forks < ENOUGH && (now() < until || forks <= 100); i++) {
        size_t which = next_random(&seed) % LIVE, size = (size_t)8 << next_random(&seed) % 19;
        free(live[which]);
        live[which] = i % 3 ? malloc(size) : i % 2 ? calloc(1, size) : realloc(malloc(size / 2), size);
        CHECK(live[which] != NULL);
        *(char *)live[which] = 1;
        if (i % 500 == 0) malloc_trim(0);
    }
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    CHECK(forks > 100);
    for (size_t i = 0; i < LIVE; i++) free(live[i]);
}

static void alone(void *arg)
{
    (void)arg;
    CHECK(signal(SIGALRM, fork_again) != SIG_ERR);
    allocate_under_signals();
}

/* The main thread gets the signals.  The others hold locks that the fork in its handler has to wait for. */
static void beside_busy_threads(void *arg)
{
    struct busy busy[2];
    sigset_t ring;
    sigemptyset(&ring);
    sigaddset(&ring, SIGALRM);
    CHECK(pthread_sigmask(SIG_BLOCK, &ring, NULL) == 0);
    for (size_t i = 0; i < COUNT_OF(busy); i++) busy_start(&busy[i]);
    CHECK(pthread_sigmask(SIG_UNBLOCK, &ring, NULL) == 0);
    alone(arg);
    for (size_t i = 0; i < COUNT_OF(busy); i++) busy_stop(&busy[i]);
}

int main(void)
{
    expect_success(in_child(alone, NULL), 20);
    expect_success(in_child(beside_busy_threads, NULL), 20);
}
