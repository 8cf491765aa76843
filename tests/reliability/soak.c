/* Proves that memory does not grow with time.  16 threads, replaced now and then, keep a constant number of blocks,
 * pass them on, and check their content.  The sizes depend on the phase; phases of small and of large ones alternate.
 * After a fifth of the time resident memory grows by at most a thousandth a minute, and the number of mappings does not
 * grow.  Its mean over a cycle depends on when the memory of each phase goes back: over ten minutes the slope has a
 * standard error of about the bound.  So where noise may be all that exceeds the bound, the run goes on for up to three
 * times as long.
 *
 *     soak [SECONDS [SEED]]     growth is judged from five minutes on, as noise hides it in less */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mail.h"

enum {
    THREADS = 16,
    LETTERS = 100,
    LIFE = 20000,
    MOST_CYCLES = 10000,
    JUDGED_FROM = 300,
    MOST_PARTS = 3,
    FEW_MAPPINGS = 64
};
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

/* By least squares, in a minute and divided by the mean; with its standard error. */
static struct slope {
    double rise, error;
} growth(const struct cycle *cycles, size_t count)
{
    double n = (double)count, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    for (size_t i = 0; i < count; i++) {
        double dx = cycles[i].minutes - cycles[0].minutes, dy = cycles[i].resident / cycles[0].resident - 1;
        x += dx;
        y += dy;
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    double mean = 1 + y / n, spread = xx - x * x / n, rise = (xy - x * y / n) / spread;
    double rest = fmax(yy - y * y / n - rise * rise * spread, 0);
    return (struct slope){rise / mean, sqrt(rest / (n - 2) / spread) / mean};
}

/* Whether noise may be all by which growth exceeds the bound. */
static bool is_open(const struct cycle *cycles, size_t count)
{
    struct slope slope = growth(cycles, count);
    return slope.rise > MOST_GROWTH && slope.rise - 2 * slope.error <= MOST_GROWTH;
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
    struct slope slope = growth(cycles, count);
    printf("resident %.1f MiB, growing by %.3f %% a minute (standard error %.3f) in %.0f minutes; mappings %zu, then "
           "%zu\n",
           cycles[count - 1].resident / MIB(1), 100 * slope.rise, 100 * slope.error, cycles[count - 1].minutes, first,
           second);
    fflush(stdout);
    CHECK(second <= first + FEW_MAPPINGS);
    CHECK(!growth_too || slope.rise <= MOST_GROWTH);
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
    bool judged = seconds >= JUDGED_FROM;
    int part = 0;
    do {
        part++;
        while (now() < begun + part * seconds && count < MOST_CYCLES)
            cycles[count++] = run_cycle(begun, seconds_a_phase);
    } while (part < MOST_PARTS && judged && is_open(cycles + count / 5, count - count / 5));
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < THREADS; i++) {
        join_thread(seats[i].thread);
        written += seats[i].written;
    }
    CHECK(count >= 4);
    judge(cycles + count / 5, count - count / 5, judged);
    printf("tried=%llu held=%llu\n", (unsigned long long)written, (unsigned long long)written);
}
