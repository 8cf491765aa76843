/* Prints its locked and resident bytes after some work.  Argument "future": under mlockall(MCL_FUTURE); "current": also
 * under MCL_CURRENT; "forked": under both, after a fork beside a thread.  "unlocked": after munlockall, when
 * it has freed 64 MiB. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support.h"

enum { BLOCKS = 40000 };

static void *p[BLOCKS];

static void *sleep_on(void *barrier)
{
    pthread_barrier_wait(barrier);
    return NULL;
}

static void nothing(void *arg)
{
    (void)arg;
}

/* The memory that is set aside for such forks must not be locked. */
static void fork_beside_a_thread(void)
{
    pthread_barrier_t barrier;
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
    pthread_t thread = start_thread(sleep_on, &barrier);
    expect_success(in_child(nothing, NULL), 20);
    pthread_barrier_wait(&barrier);
    join_thread(thread);
}

static void *rest(void *unused)
{
    return unused;
}

/* With one thread it would all go back at once. */
static void free_unlocked(void)
{
    CHECK(munlockall() == 0);
    join_thread(start_thread(rest, NULL));
    for (int i = 0; i < 64; i++) CHECK(p[i] = memset(malloc(MIB(1)), 1, MIB(1)));
    for (int i = 0; i < 64; i++) free(p[i]);
    printf("%zu %zu\n", status_bytes("VmLck:"), status_bytes("VmRSS:"));
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    if (strcmp(argv[1], "forked") == 0) fork_beside_a_thread();
    if (mlockall(strcmp(argv[1], "future") == 0 ? MCL_FUTURE : MCL_CURRENT | MCL_FUTURE) != 0) {
        printf("refused %d\n", errno);
        return 0;
    }
    if (strcmp(argv[1], "unlocked") == 0) return free_unlocked(), 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t size = i % 1000 ? 16 + i * 7 % 2000 : KIB(200);
        p[i] = malloc(size);
        CHECK(p[i] != NULL);
        memset(p[i], 1, size);
    }
    for (size_t i = 0; i < BLOCKS; i += 2) free(p[i]);
    printf("%zu %zu\n", status_bytes("VmLck:"), status_bytes("VmRSS:"));
}
