/* Proves that threads which served requests, and then sleep, keep little of what they had cached: their objects go back
 * within seconds, though none of them makes a call.  Afterwards they go on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support.h"

enum { THREADS = 200, REQUESTS = 400, BLOCKS = 60, SHIFTS = 9, SMALLEST = 16 };
enum { MEMBARRIER_REGISTER = 1 << 4 };
#define SECONDS 5
#define MUCH    MIB(64)

static pthread_barrier_t together;

static void serve(uint64_t *seed)
{
    void *block[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        uint64_t random = next_random(seed);
        size_t least = (size_t)SMALLEST << random % SHIFTS; /* up to 8 KiB */
        block[i] = malloc(least + (random >> 32) % least);
        CHECK(block[i] != NULL);
        fill(block[i], SMALLEST, i);
    }
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(is_filled(block[i], SMALLEST, i));
        free(block[i]);
    }
}

static void *work(void *number)
{
    uint64_t seed = (uintptr_t)number + 1;
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < REQUESTS; i++) serve(&seed);
        pthread_barrier_wait(&together); /* it sleeps until the main thread comes */
        pthread_barrier_wait(&together);
    }
    return NULL;
}

int main(void)
{
    static pthread_t threads[THREADS];
    if (syscall(SYS_membarrier, MEMBARRIER_REGISTER, 0, 0) != 0) skip_test("the system has no membarrier");
    CHECK(pthread_barrier_init(&together, NULL, THREADS + 1) == 0);
    for (size_t i = 0; i < THREADS; i++) threads[i] = start_thread(work, (void *)i);
    for (int turn = 0; turn < 2; turn++) {
        pthread_barrier_wait(&together);
        size_t before = resident_bytes();
        sleep_for(SECONDS);
        size_t after = resident_bytes();
        printf("%zu MiB when they fell asleep, %zu after %d s\n", before >> 20, after >> 20, SECONDS);
        CHECK(ANY_MALLOC || before < MUCH || after < before / 10 * 7);
        pthread_barrier_wait(&together);
    }
    for (size_t i = 0; i < THREADS; i++) join_thread(threads[i]);
}
