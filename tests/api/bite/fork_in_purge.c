/* Proves that a signal handler may fork while its thread purges pages, and another thread waits inside the allocator
 * for these pages, as there are no others. */
#include <errno.h>
#include <malloc.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gate.h"
#include "support.h"

enum { SMALL = 4096 };

static volatile bool armed;
static sem_t purging;

/* Replaces libc's. */
int madvise(void *at, size_t bytes, int advice)
{
    if (armed) {
        armed = false;
        sem_post(&purging);
        sleep_for(0.1); /* until the other thread waits */
        CHECK(raise(SIGUSR1) == 0);
    }
    return (int)syscall(SYS_madvise, at, bytes, advice);
}

static void *allocate(void *unused)
{
    (void)unused;
    sem_wait(&purging);
    return malloc(SMALL);
}

static void run(void *unused)
{
    static const int calls[] = {SYS_mmap, SYS_munmap, SYS_mprotect}; /* what it trims, it could not map again */
    (void)unused;
    CHECK(signal(SIGUSR1, fork_here) != SIG_ERR && sem_init(&purging, 0, 0) == 0);
    pthread_t other = start_thread(allocate, NULL);
    void *big = malloc(MIB(8));
    CHECK(big != NULL);
    fill(big, MIB(8), 1);
    gate_refuse(calls, COUNT_OF(calls), ENOMEM);
    while (forget(malloc(SMALL))) {
    }
    free(big);
    armed = true;
    malloc_trim(0);
    CHECK(!armed);
    CHECK(join_thread(other) != NULL);
}

int main(void)
{
    expect_success(in_child(run, NULL), 10);
}
