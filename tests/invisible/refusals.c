/* 60 threads allocate 8, 16, 32 bytes and so on until they are refused, write to each block, free them all, and do it
 * again, 20 times.  The figure is the CPU time in seconds, or the most MiB that were resident, where threads take
 * turns, since each sleeps after each call; or how often a thread waited for each refusal, where none sleeps: the most
 * of six times, as who waits is chance. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "figure.h"
#include "support.h"

enum { THREADS = 60, ROUNDS = 20, SIZES = 62, TIMES = 6 };

static bool sleeps;
static atomic_int at_work;

static void take_turns(void)
{
    if (sleeps) usleep(0);
}

static void *be_refused(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        long *block[SIZES];
        int n = 0;
        for (int bits = 3; bits <= SIZES && (block[n] = forget(malloc((size_t)1 << bits))); bits++) {
            *block[n] = n;
            n++;
            take_turns();
        }
        CHECK(n < SIZES - 3);
        for (int i = 0; i < n; i++) {
            CHECK(*block[i] == i);
            free(block[i]);
            take_turns();
        }
    }
    at_work--;
    return unused;
}

/* Nothing here needs more than 2 GiB, and the machine is not this program's alone. */
static void run_threads(void)
{
    pthread_t thread[THREADS];
    at_work = THREADS;
    for (int i = 0; i < THREADS; i++) thread[i] = start_thread(be_refused, NULL);
    for (; at_work; sleep_for(0.02)) CHECK(resident_bytes() < (size_t)4 << 30);
    for (int i = 0; i < THREADS; i++) join_thread(thread[i]);
}

static long waits_so_far(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_nvcsw;
}

static double most_waits(void)
{
    long most = 0;
    for (int i = 0; i < TIMES; i++) {
        long before = waits_so_far();
        run_threads();
        long waits = waits_so_far() - before;
        if (waits > most) most = waits;
    }
    return (double)most / (THREADS * ROUNDS);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    sleeps = strcmp(argv[1], "waits") != 0;
    if (sleeps) run_threads();
    if (strcmp(argv[1], "cpu") == 0) figure(cpu_time());
    if (strcmp(argv[1], "peak") == 0) figure((double)status_bytes("VmHWM:") / (1 << 20));
    if (strcmp(argv[1], "waits") == 0) figure(most_waits());
}
