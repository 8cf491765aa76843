/* Proves that a signal handler which forks inside a fork of its own thread leaves the gate closed for the outer one.
 * Until that is done, other threads get memory that needs no lock, in whole pages. */
#include <malloc.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.h"

enum { SMALL = 16 };

static volatile bool nested, served, entered;
static sem_t may_enter;

static void prepare(void)
{
    if (nested) return;
    nested = true;
    CHECK(raise(SIGUSR1) == 0);
    sem_post(&may_enter);
    for (double until = now() + 20; !served && now() < until;) sleep_for(0.001);
    CHECK(served && !entered);
}

/* Registered before the allocator's own handler, this one runs when the allocator has its locks. */
static void before_constructors(void)
{
    CHECK(pthread_atfork(prepare, NULL, NULL) == 0);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = before_constructors;

static void *enter(void *unused)
{
    sem_wait(&may_enter);
    void *p = malloc(SMALL), *q = malloc(SMALL); /* large blocks start at whole pages, and may be usable whole */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    entered = malloc_usable_size(p) < page && ((uintptr_t)p % page || (uintptr_t)q % page);
    free(p);
    free(q);
    served = true;
    return unused;
}

int main(void)
{
    alarm(50);
    CHECK(signal(SIGUSR1, fork_here) != SIG_ERR && sem_init(&may_enter, 0, 0) == 0);
    pthread_t other = start_thread(enter, NULL);
    fork_here(0);
    CHECK(nested);
    join_thread(other);
}
