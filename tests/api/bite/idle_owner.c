/* Proves that other threads may free a sleeping thread's blocks.  The blocks that they leave keep their content, the
 * freed memory serves them, and the heap is intact when the thread wakes. */
#include <stdlib.h>
#include <string.h>

#include "churn.h"

enum { OBJECTS = 60000, KEPT = 7 }; /* the owner keeps one in KEPT */

static void *object[OBJECTS];
static pthread_barrier_t turn;

static size_t size_of(size_t i)
{
    return 16 + i * 37 % 2000;
}

static void take(size_t i)
{
    CHECK((object[i] = malloc(size_of(i))) != NULL);
    fill(object[i], size_of(i), i);
}

static void drop(size_t i)
{
    CHECK(is_filled(object[i], size_of(i), i));
    free(object[i]);
}

static void *own(void *unused)
{
    for (size_t i = 0; i < OBJECTS; i++) take(i);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    for (size_t i = 0; i < OBJECTS; i++) drop(i);
    churn(1, 200);
    return unused;
}

static void free_others(void)
{
    for (size_t i = 0; i < OBJECTS; i++)
        if (i % KEPT) drop(i);
}

static void take_anew(void)
{
    for (size_t i = 0; i < OBJECTS; i++)
        if (i % KEPT) take(i);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
    pthread_t owner = start_thread(own, NULL);
    pthread_barrier_wait(&turn);
    free_others();
    size_t before = resident_bytes();
    take_anew();
    if (strcmp(argv[1], "again") == 0) CHECK(resident_bytes() < before + MIB(16)); /* 51 MiB were freed */
    for (int round = 0; round < 10; round++) {
        free_others();
        take_anew();
    }
    pthread_barrier_wait(&turn);
    join_thread(owner);
}
