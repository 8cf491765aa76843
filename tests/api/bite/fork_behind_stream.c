/* Proves that fork does not deadlock with a thread that holds a stream's lock and allocates until hz3 can no longer do
 * without its own locks, while there is so much to give back that hz3 would start its background thread. */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { BLOCKS = 64, PATIENCE = 20 };
static const double settled = 0.1; /* s: others have come to their locks */

static sem_t held, forking;

/* So hz3 knows the thread, and that it is not the only one. */
static void use_malloc(void)
{
    free(forget(malloc(1)));
}

static void say_so(void)
{
    CHECK(sem_post(&forking) == 0);
}

static void *flush_all(void *unused)
{
    CHECK(fflush(NULL) == 0); /* holds the lock of the list of streams, and waits for the stream */
    return unused;
}

static void nothing(void *unused)
{
    (void)unused;
}

static void *fork_once(void *unused)
{
    expect_success(in_child(nothing, NULL), PATIENCE / 2); /* fork waits for the list of streams */
    return unused;
}

static void *hold(void *file)
{
    use_malloc();
    flockfile(file);
    CHECK(sem_post(&held) == 0);
    while (sem_wait(&forking) != 0) continue;
    sleep_for(settled);
    char *p = malloc(MIB(256));
    CHECK(p != NULL);
    p[0] = 1;
    free(forget(p));
    funlockfile(file);
    return file;
}

static void fork_beside_holder(void *unused)
{
    (void)unused;
    FILE *file = fopen("/dev/null", "w");
    CHECK(file != NULL && sem_init(&held, 0, 0) == 0 && sem_init(&forking, 0, 0) == 0);
    CHECK(pthread_atfork(say_so, NULL, NULL) == 0);
    pthread_t holder = start_thread(hold, file);
    while (sem_wait(&held) != 0) continue;
    pthread_t flusher = start_thread(flush_all, NULL);
    sleep_for(settled);
    pthread_t forker = start_thread(fork_once, NULL);
    join_thread(holder);
    join_thread(flusher);
    join_thread(forker);
    CHECK(fclose(file) == 0);
}

static void *wait_for_end(void *end)
{
    use_malloc();
    while (sem_wait(end) != 0) continue;
    return end;
}

int main(void)
{
    sem_t end;
    char *blocks[BLOCKS];
    CHECK(sem_init(&end, 0, 0) == 0);
    use_malloc();
    pthread_t other = start_thread(wait_for_end, &end); /* so that what is free may wait */
    for (int i = 0; i < BLOCKS; i++) {
        CHECK((blocks[i] = malloc(MIB(1))) != NULL);
        memset(blocks[i], 1, MIB(1));
    }
    for (int i = 0; i < BLOCKS; i++) free(forget(blocks[i]));
    expect_success(in_child(fork_beside_holder, NULL), PATIENCE);
    CHECK(sem_post(&end) == 0);
    join_thread(other);
}
