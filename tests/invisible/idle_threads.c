/* The MiB that are resident 5 s after 200 threads have each served requests, and wait for more. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "figure.h"
#include "support.h"

enum { THREADS = 200, REQUESTS = 200, BLOCKS = 300 };

static pthread_barrier_t served;

/* A request is a few hundred blocks of many sizes, which are all freed in the end. */
static void *serve(void *seed)
{
    uint64_t random = (uintptr_t)seed;
    void *block[BLOCKS];
    for (int request = 0; request < REQUESTS; request++) {
        for (size_t i = 0; i < BLOCKS; i++) {
            size_t size = 16 + next_random(&random) % ((size_t)64 << next_random(&random) % 8);
            CHECK((block[i] = malloc(size)));
            memset(block[i], 1, size);
        }
        for (size_t i = 0; i < BLOCKS; i++) free(block[i]);
    }
    pthread_barrier_wait(&served);
    for (;;) pause();
    return NULL;
}

int main(void)
{
    CHECK(pthread_barrier_init(&served, NULL, THREADS + 1) == 0);
    for (uintptr_t i = 0; i < THREADS; i++) start_thread(serve, (void *)(i + 1));
    pthread_barrier_wait(&served);
    sleep_for(5);
    figure((double)resident_bytes() / (1 << 20));
    _exit(0);
}
