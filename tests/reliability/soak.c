/* Proves that memory does not grow with time.  16 threads, replaced now and then, keep a constant number of blocks,
 * pass them on, and check their content.  The sizes depend on the phase; phases of small and of large ones alternate.
 * After a fifth of the time memory may grow by at most a thousandth a minute, and the number of mappings not at all.
 *
 * What the mean of a cycle is depends on when the memory of its phases goes back, so that over ten minutes its slope
 * has a standard error of about the bound.  A leak raises the least of a cycle just as much, and on a quiet machine
 * that has half the error.  Either fails the test if it exceeds the bound by two standard errors.
 *
 *     soak [SECONDS [SEED]]     growth is judged from five minutes on, as noise hides it in less */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mail.h"

enum { THREADS = 16, LETTERS = 100, LIFE = 20000, MOST_CYCLES = 10000, JUDGED_FROM = 300, FEW_MAPPINGS = 64 };
#define MOST_GROWTH 0.001 /* per minute */
static const size_t largest[] = {128, 1024, 8192, 131072};

static struct seat {
    pthread_t thread;
    uint64_t random, written;
    struct letter *letters[LETTERS];
} seats[THREADS];
static unsigned phase;
static bool stop;

static void *live(void *arg)
{
    struct seat *seat = (struct seat *)arg;
    uint64_t end = seat->written + LIFE / 2 + next_random(&seat->random) % LIFE;
    for (; seat->written < end && !__atomic_load_n(&stop, __ATOMIC_RELAXED); seat->written++) {
        struct letter **letter = &seat->letters[next_random(&seat->random) % LETTERS];
        CHECK(mail_write(*letter, next_random(&seat->random) % largest[__atomic_load_n(&phase, __ATOMIC_RELAXED)]));
        *letter = mail_exchange(*letter, &seat->random);
    }
    return NULL;
}

/* ---- measurement ---- */

static struct cycles {
    double minutes[MOST_CYCLES], resident[MOST_CYCLES], least[MOST_CYCLES]; /* resident: the mean of the cycle */
    size_t mappings[MOST_CYCLES], count;
} cycles;

static size_t count_mappings(void)
{
    char some[4096];
    size_t lines = 0;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    for (ssize_t n; (n = read(fd, some, sizeof(some))) > 0;)
        for (ssize_t i = 0; i < n; i++) lines += some[i] == '\n';
    close(fd);
    return lines;
}

/* Runs all phases once. */
static void run_cycle(double begun, double seconds_a_phase)
{
    size_t samples = 0, mappings = 0;
    double sum = 0, least = INFINITY;
    for (unsigned next = 0; next < COUNT_OF(largest); next++) {
        __atomic_store_n(&phase, next, __ATOMIC_RELAXED);
        for (double until = now() + seconds_a_phase; now() < until; sleep_for(0.01), samples++) {
            double resident = (double)resident_bytes();
            size_t some = count_mappings();
            sum += resident;
            if (resident < least) least = resident;
            if (some > mappings) mappings = some;
            for (size_t i = 0; i < THREADS; i++)
                if (pthread_tryjoin_np(seats[i].thread, NULL) == 0) seats[i].thread = start_thread(live, &seats[i]);
        }
    }
    size_t i = cycles.count++;
    cycles.minutes[i] = (now() - begun) / 60;
    cycles.resident[i] = sum / (double)samples;
    cycles.least[i] = least;
    cycles.mappings[i] = mappings;
}

static double mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i];
    return sum / (double)count;
}

/* By least squares, in `y` for each minute; and its standard error. */
static struct slope {
    double rise, error;
} slope(const double *x, const double *y, size_t count)
{
    double xx = 0, xy = 0, rest = 0, mean_x = mean(x, count), mean_y = mean(y, count);
    for (size_t i = 0; i < count; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    for (size_t i = 0; i < count; i++) {
        double off = y[i] - mean_y - xy / xx * (x[i] - mean_x);
        rest += off * off;
    }
    return (struct slope){xy / xx, sqrt(rest / (double)(count - 2) / xx)};
}

static size_t most(const size_t *values, size_t count)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++)
        if (values[i] > most) most = values[i];
    return most;
}

static void judge(size_t from, bool growth_too)
{
    size_t count = cycles.count - from, half = count / 2;
    size_t first = most(cycles.mappings + from, half), second = most(cycles.mappings + from + half, count - half);
    double resident = mean(cycles.resident + from, count), allowed = MOST_GROWTH * resident;
    struct slope all = slope(cycles.minutes + from, cycles.resident + from, count);
    struct slope least = slope(cycles.minutes + from, cycles.least + from, count);
    printf(
        "resident %.1f MiB, growing by %.3f %% a minute (standard error %.3f); at least %.1f MiB, growing by %.3f %% "
        "(%.3f) of the former; mappings %zu, then %zu\n",
        resident / MIB(1), 100 * all.rise / resident, 100 * all.error / resident,
        mean(cycles.least + from, count) / MIB(1), 100 * least.rise / resident, 100 * least.error / resident, first,
        second);
    fflush(stdout);
    CHECK(second <= first + FEW_MAPPINGS);
    CHECK(!growth_too || least.rise - 2 * least.error <= allowed);
    CHECK(!growth_too || all.rise - 2 * all.error <= allowed);
    CHECK(!growth_too || all.error <= 2 * allowed); /* otherwise the machine was too busy to tell */
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 20, begun = now();
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, written = 0;
    double seconds_a_phase = seconds < 20 ? seconds / 20 : 1;
    mail_start();
    for (size_t i = 0; i < THREADS; i++) {
        seats[i].random = seed * 1000003 + i;
        for (size_t j = 0; j < LETTERS; j++) seats[i].letters[j] = mail_new_letter();
        seats[i].thread = start_thread(live, &seats[i]);
    }
    while (now() < begun + seconds && cycles.count < MOST_CYCLES) run_cycle(begun, seconds_a_phase);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < THREADS; i++) {
        join_thread(seats[i].thread);
        written += seats[i].written;
    }
    CHECK(cycles.count >= 4);
    judge(cycles.count / 5, seconds >= JUDGED_FROM);
    printf("tried=%llu held=%llu\n", (unsigned long long)written, (unsigned long long)written);
}
