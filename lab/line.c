/* Prints how many ns a cache line takes from one processor to another, by the median of a few rounds of messages.  On
 * a virtual machine that is not always the same: the host moves the processors, and a line takes four times as long
 * between cores that share no cache.  What threads share is then half as fast or less, whatever the allocator. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 7, TRIPS = 4000, LOOK = 4096 };
#define MOST 0.05 /* seconds: beside others who want the processors it would take long, and says nothing */

static _Alignas(128) atomic_int turn;
static int processor[2];
static double end;

static double now(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0) exit(1);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void stay_on(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) exit(1);
}

static void pass(int mine)
{
    for (unsigned i = 0, spins = 0; i < TRIPS; i++) {
        while (atomic_load_explicit(&turn, memory_order_acquire) != mine)
            if (++spins % LOOK == 0 && now() > end) _exit(1);
        atomic_store_explicit(&turn, !mine, memory_order_release);
    }
}

static void *answer(void *unused)
{
    stay_on(processor[1]);
    for (int round = 0; round <= ROUNDS; round++) pass(1);
    return unused;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    cpu_set_t allowed;
    int found = 0;
    pthread_t other;
    double ns[ROUNDS];
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
        if (CPU_ISSET(cpu, &allowed)) processor[found++] = cpu;
    if (found < 2) return 1;
    stay_on(processor[0]);
    end = now() + MOST;
    if (pthread_create(&other, NULL, answer, NULL) != 0) return 1;
    pass(0); /* the other is there */
    for (int round = 0; round < ROUNDS; round++) {
        double from = now();
        pass(0);
        ns[round] = (now() - from) * 1e9 / (2.0 * TRIPS);
    }
    pthread_join(other, NULL);
    qsort(ns, ROUNDS, sizeof *ns, compare);
    printf("%.1f\n", ns[ROUNDS / 2]);
    return 0;
}
