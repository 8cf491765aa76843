/* Proves that threads may end by the system call, without their destructors.  Other threads get their stacks, or these
 * are unmapped, while the process forks, trims and reads statistics of all threads.  (musl's pthread_join waits for
 * such a thread for ever, and so its stack stays as it is.) */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "churn.h"

enum { TOGETHER = 12, ROUNDS = 60 }; /* glibc keeps fewer than 12 stacks of 8 MiB */

/* Not all C libraries declare these. */
int malloc_info(int options, FILE *stream);
int malloc_trim(size_t keep);

static pthread_barrier_t all_have;
static _Atomic(pid_t) number[TOGETHER]; /* the system's, of each thread; 0 before it is known */

static void *end_raw(void *seed)
{
    churn((uintptr_t)seed, 20);
    number[(uintptr_t)seed] = (pid_t)syscall(SYS_gettid);
    pthread_barrier_wait(&all_have);
    syscall(SYS_exit, 0);
    return NULL;
}

static void *end_well(void *seed)
{
    churn((uintptr_t)seed, 20);
    return NULL;
}

static void live_as_a_child(void *unused)
{
    (void)unused;
    join_thread(start_thread(end_well, (void *)1));
    churn(2, 60);
}

static void ask(FILE *paper)
{
    malloc_trim(0);
    CHECK(malloc_info(0, paper) == 0);
#ifdef __GLIBC__
    CHECK(mallinfo2().uordblks > 0);
#endif
    expect_success(in_child(live_as_a_child, NULL), 10);
}

static void wait_for_end(pthread_t thread, size_t i)
{
#ifdef __GLIBC__
    (void)i;
    CHECK(pthread_join(thread, NULL) == 0);
#else
    (void)thread;
    while (number[i] == 0 || syscall(SYS_tgkill, getpid(), number[i], 0) == 0) usleep(1000);
    number[i] = 0;
#endif
}

static void run(void *unused)
{
    (void)unused;
    FILE *paper = fopen("/dev/null", "w");
    CHECK(paper != NULL);
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_t threads[TOGETHER];
        unsigned count = round % 4 == 0 ? TOGETHER : 1 + round % 3;
        CHECK(pthread_barrier_init(&all_have, NULL, count) == 0);
        for (size_t i = 0; i < count; i++) threads[i] = start_thread(end_raw, (void *)i);
        if (round % 2) ask(paper);
        for (size_t i = 0; i < count; i++) wait_for_end(threads[i], i);
        if (round % 3 == 0) join_thread(start_thread(end_well, (void *)3));
        ask(paper);
    }
    CHECK(fclose(paper) == 0);
}

/* The time limit shows if something waits for a thread that has ended. */
int main(void)
{
    expect_success(in_child(run, NULL), 30);
    printf("tried=%d held=%d\n", ROUNDS, ROUNDS);
}
