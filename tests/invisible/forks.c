/* Page faults of a forked child: of one that allocates 16 small blocks, in a process with few; and of one that ends at
 * once, beside 200 threads that have allocated. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figure.h"
#include "support.h"

enum { FORKS = 50, FEW = 16, THREADS = 200, HELD = 200 };

static pthread_barrier_t ready;

static void allocate_little(void)
{
    for (int i = 0; i < 16; i++) free(forget(malloc((size_t)64 << i % 8)));
}

static void nothing(void) {}

/* The mean over the children. */
static double faults_of_a_child(void (*body)(void))
{
    long faults = 0;
    for (int i = 0; i < FORKS; i++) {
        struct rusage usage;
        int status;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            body();
            _exit(0);
        }
        CHECK(wait4(child, &status, 0, &usage) == child && status == 0);
        faults += usage.ru_minflt;
    }
    return (double)faults / FORKS;
}

static void *allocate_and_sleep(void *seed)
{
    uint64_t random = (uintptr_t)seed;
    void *held[HELD] = {0};
    for (int i = 0; i < 5000; i++) {
        size_t k = next_random(&random) % HELD;
        free(held[k]);
        held[k] = malloc(next_random(&random) % 3000);
    }
    for (int i = 0; i < HELD; i++) free(held[i]);
    pthread_barrier_wait(&ready);
    for (;;) pause();
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    if (strcmp(argv[1], "few") == 0) {
        for (int i = 0; i < FEW; i++) memset(forget(malloc(100)), 1, 100);
        figure(faults_of_a_child(allocate_little));
    } else {
        CHECK(pthread_barrier_init(&ready, NULL, THREADS + 1) == 0);
        for (uintptr_t i = 0; i < THREADS; i++) start_thread(allocate_and_sleep, (void *)(i + 1));
        pthread_barrier_wait(&ready);
        figure(faults_of_a_child(nothing));
    }
    _exit(0);
}
