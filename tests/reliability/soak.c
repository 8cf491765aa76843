/* Proves that memory does not grow with time.  16 threads, replaced now and then, keep a constant number of blocks,
 * pass them on, and check their content.  The sizes depend on the phase; phases of small and of large ones alternate.
 * After a fifth of the time resident memory grows by at most a thousandth a minute, and the number of mappings does not
 * grow.
 *
 *     soak [SECONDS [SEED]]     growth is judged from five minutes on, as noise hides it in less */
#include <fcntl.h>
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

struct cycle {
    double minutes, resident;
    size_t mappings;
};

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
static struct cycle run_cycle(double begun, double seconds_a_phase)
{
    struct cycle cycle = {0};
    size_t samples = 0;
    for (unsigned next = 0; next < COUNT_OF(largest); next++) {
        __atomic_store_n(&phase, next, __ATOMIC_RELAXED);
        for (double until = now() + seconds_a_phase; now() < until; sleep_for(0.01), samples++) {
            cycle.resident += (double)resident_bytes();
            size_t mappings = count_mappings();
            if (mappings > cycle.mappings) cycle.mappings = mappings;
            for (size_t i = 0; i < THREADS; i++)
                if (pthread_tryjoin_np(seats[i].thread, NULL) == 0) seats[i].thread = start_thread(live, &seats[i]);
        }
    }
    cycle.minutes = (now() - begun) / 60;
    cycle.resident /= (double)samples;
    return cycle;
}

/* The slope by least squares, divided by the mean. */
static double growth_a_minute(const struct cycle *cycles, size_t count)
{
    double n = (double)count, x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        x += cycles[i].minutes;
        y += cycles[i].resident;
        xx += cycles[i].minutes * cycles[i].minutes;
        xy += cycles[i].minutes * cycles[i].resident;
    }
    return (n * xy - x * y) / (n * xx - x * x) / (y / n);
}

static size_t most_mappings(const struct cycle *cycles, size_t count)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++)
        if (cycles[i].mappings > most) most = cycles[i].mappings;
    return most;
}

static void judge(const struct cycle *cycles, size_t count, bool growth_too)
{
    size_t half = count / 2, first = most_mappings(cycles, half), second = most_mappings(cycles + half, count - half);
    double growth = growth_a_minute(cycles, count);
    printf("resident %.1f MiB, growing by %.3f %% a minute; mappings %zu, then %zu\n",
           cycles[count - 1].resident / MIB(1), 100 * growth, first, second);
    fflush(stdout);
    CHECK(second <= first + FEW_MAPPINGS);
    CHECK(!growth_too || growth <= MOST_GROWTH);
}

int main(int argc, char **argv)
{
    static struct cycle cycles[MOST_CYCLES];
    double seconds = argc > 1 ? atof(argv[1]) : 20, begun = now();
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, written = 0;
    double seconds_a_phase = seconds < 20 ? seconds / 20 : 1;
    size_t count = 0;
    mail_start();
    for (size_t i = 0; i < THREADS; i++) {
        seats[i].random = seed * 1000003 + i;
        for (size_t j = 0; j < LETTERS; j++) seats[i].letters[j] = mail_new_letter();
        seats[i].thread = start_thread(live, &seats[i]);
    }
    while (now() < begun + seconds && count < MOST_CYCLES) cycles[count++] = run_cycle(begun, seconds_a_phase);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < THREADS; i++) {
        join_thread(seats[i].thread);
        written += seats[i].written;
    }
    CHECK(count >= 4);
    judge(cycles + count / 5, count - count / 5, seconds >= JUDGED_FROM);
    printf("tried=%llu held=%llu\n", (unsigned long long)written, (unsigned long long)written);
}
