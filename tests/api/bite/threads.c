/* Proves that thousands of threads may start and end, outnumber the cores, or only free, and that no memory is lost by
 * that. */
#include <stdlib.h>

#include "support.h"

enum { AT_ONCE = 50, ROUNDS = 200, CROWD = 400, PER_THREAD = 30 };

/* Frees what its predecessor left, and leaves one block to its successor. */
static void *heir(void *inherited)
{
    CHECK(inherited == NULL || is_filled(inherited, 200, 1));
    free(inherited);
    for (size_t size = 8; size < 10000; size += size / 2) {
        void *p = malloc(size);
        CHECK(p != NULL);
        fill(p, size, size);
        CHECK(is_filled(p, size, size));
        free(p);
    }
    void *left = malloc(200);
    CHECK(left != NULL);
    fill(left, 200, 1);
    return left;
}

static void ten_thousand_short_threads(void)
{
    pthread_t threads[AT_ONCE];
    void *left[AT_ONCE] = {0};
    size_t settled = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (round == ROUNDS / 4) settled = resident_bytes();
        for (size_t i = 0; i < AT_ONCE; i++) threads[i] = start_thread(heir, left[i]);
        for (size_t i = 0; i < AT_ONCE; i++) left[i] = join_thread(threads[i]);
    }
    CHECK(resident_bytes() < settled + MIB(8));
    for (size_t i = 0; i < AT_ONCE; i++) free(left[i]);
}

static pthread_barrier_t all_here;
static void *crowd_blocks[CROWD][PER_THREAD];

static void *one_of_the_crowd(void *arg)
{
    size_t me = (size_t)arg;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < PER_THREAD; i++) {
            crowd_blocks[me][i] = malloc(8 + i * i * 3);
            CHECK(crowd_blocks[me][i] != NULL);
            fill(crowd_blocks[me][i], 8 + i * i * 3, me);
        }
        pthread_barrier_wait(&all_here);
        size_t neighbour = (me + 1 + (size_t)round) % CROWD;
        for (size_t i = 0; i < PER_THREAD; i++) {
            CHECK(is_filled(crowd_blocks[neighbour][i], 8 + i * i * 3, neighbour));
            free(crowd_blocks[neighbour][i]);
        }
        pthread_barrier_wait(&all_here);
    }
    return NULL;
}

static void a_crowd_that_frees_its_neighbours_blocks(void)
{
    pthread_t threads[CROWD];
    pthread_barrier_init(&all_here, NULL, CROWD);
    for (size_t i = 0; i < CROWD; i++) threads[i] = start_thread(one_of_the_crowd, (void *)i);
    for (size_t i = 0; i < CROWD; i++) join_thread(threads[i]);
}

enum { LOAD = 20000, LOADS = 60 };
static void *load[LOAD];
static pthread_barrier_t handed_over;

static void *only_frees(void *arg)
{
    (void)arg;
    for (int i = 0; i < LOADS; i++) {
        pthread_barrier_wait(&handed_over);
        for (size_t b = 0; b < LOAD; b++) free(load[b]);
        pthread_barrier_wait(&handed_over);
    }
    return NULL;
}

/* A thread that never allocates frees 150 MiB in all, 2.5 MiB at a time. */
static void a_thread_that_only_frees(void)
{
    pthread_barrier_init(&handed_over, NULL, 2);
    pthread_t freer = start_thread(only_frees, NULL);
    size_t before = resident_bytes();
    for (int i = 0; i < LOADS; i++) {
        for (size_t b = 0; b < LOAD; b++) {
            load[b] = malloc(128);
            CHECK(load[b] != NULL);
            fill(load[b], 128, b);
        }
        for (size_t b = 0; b < LOAD; b++) CHECK(is_filled(load[b], 128, b));
        pthread_barrier_wait(&handed_over);
        pthread_barrier_wait(&handed_over);
    }
    CHECK(resident_bytes() < before + MIB(16));
    join_thread(freer);
}

int main(void)
{
    ten_thousand_short_threads();
    a_crowd_that_frees_its_neighbours_blocks();
    a_thread_that_only_frees();
}
