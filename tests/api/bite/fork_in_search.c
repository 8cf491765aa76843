/* Proves that a request is served if the search for memory finds some for it, even if another thread forks at that
 * moment. */
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gate.h"
#include "support.h"

enum { SMALL = 4096 };

static volatile bool armed, held_up;
static sem_t searching;

/* Replaces libc's. */
int madvise(void *at, size_t bytes, int advice)
{
    if (armed) {
        armed = false;
        sem_post(&searching);
        sleep_for(0.1); /* until the other thread's fork waits for this one to leave the allocator */
    }
    return (int)syscall(SYS_madvise, at, bytes, advice);
}

static void hold_up(void)
{
    held_up = true;
    sleep_for(0.5);
}

/* Registered before the allocator's own handler, this one runs when the gate is closed. */
static void before_constructors(void)
{
    CHECK(pthread_atfork(hold_up, NULL, NULL) == 0);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = before_constructors;

static void *fork_when_asked(void *unused)
{
    sem_wait(&searching);
    fork_here(0);
    return unused;
}

static void run(void *unused)
{
    static const int calls[] = {SYS_mmap, SYS_mprotect};
    (void)unused;
    CHECK(sem_init(&searching, 0, 0) == 0);
    pthread_t other = start_thread(fork_when_asked, NULL);
    void *big = malloc(MIB(4));
    CHECK(big != NULL);
    fill(big, MIB(4), 1);
    gate_refuse(calls, COUNT_OF(calls), ENOMEM);
    while (forget(malloc(SMALL))) {
    }
    free(big); /* it waits in the large cache, so a small request has to search */
    held_up = false;
    armed = true;
    CHECK(forget(malloc(SMALL)) != NULL);
    CHECK(!armed && held_up);
    join_thread(other);
}

int main(void)
{
    expect_success(in_child(run, NULL), 10);
}
