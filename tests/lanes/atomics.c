/* Counts the atomic read-modify-writes of remote frees, by a counter that is built in.  No time is measured.
 *
 *     atomics one_way      one thread allocates, another frees
 *     atomics symmetric    two threads allocate, and free as many of each other's objects
 *
 * The count begins after a warm-up.
 */
#include <stdio.h>
#include <string.h>

#include "api/init.h"
#include "hz3.h"
#include "support.h"

_Static_assert(HZ3_ATOMIC_STATS, "this is what it prints");
enum { SIZE = 128, OBJECTS = 3000, BATCH = 20, WARM_UP = 20, ROUNDS = 200 };

static void *batches[2][OBJECTS];
static pthread_barrier_t turn;
static uint64_t counted[2];

static void allocate(void **objects, int n)
{
    for (int i = 0; i < n; i++) CHECK((objects[i] = hz3_malloc(SIZE)) != NULL);
}

static uint64_t count_frees(void **objects, int n)
{
    uint64_t before = hz3_rmw_count;
    for (int i = 0; i < n; i++) hz3_free(objects[i]);
    return hz3_rmw_count - before;
}

/* Frees the objects that main allocated.  Both threads work in turns. */
static void *free_all(void *arg)
{
    hz3_free(hz3_malloc(1000)); /* the thread joins; before that no free is remote */
    for (int round = 0; round < WARM_UP + ROUNDS; round++) {
        pthread_barrier_wait(&turn);
        uint64_t more = count_frees(batches[0], OBJECTS);
        if (round >= WARM_UP) counted[0] += more;
        pthread_barrier_wait(&turn);
    }
    return arg;
}

static void allocate_in_turns(void)
{
    for (int round = 0; round < WARM_UP + ROUNDS; round++) {
        allocate(batches[0], OBJECTS);
        pthread_barrier_wait(&turn);
        pthread_barrier_wait(&turn);
    }
}

static void *exchange(void *arg)
{
    size_t me = (size_t)arg;
    for (int round = 0; round < WARM_UP + ROUNDS; round++) {
        allocate(batches[me], BATCH);
        pthread_barrier_wait(&turn);
        uint64_t more = count_frees(batches[!me], BATCH);
        if (round >= WARM_UP) counted[me] += more;
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    bool one_way = !strcmp(argv[1], "one_way");
    double frees = (double)ROUNDS * (one_way ? OBJECTS : 2 * BATCH);
    hz3_ensure_started();
    pthread_barrier_init(&turn, NULL, 2);
    pthread_t other = start_thread(one_way ? free_all : exchange, (void *)1);
    if (one_way)
        allocate_in_turns();
    else
        exchange(NULL);
    join_thread(other);
    printf("atomics_per_remote_free=%.5f\n", (double)(counted[0] + counted[1]) / frees);
}
