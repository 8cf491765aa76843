/* Proves that memory does not grow with time.  16 threads, replaced now and then, keep a constant number of blocks,
 * pass them on, and check their content.  The sizes depend on the phase; phases of small and of large ones alternate.
 * After a fifth of the time resident memory grows by at most a thousandth a minute, and the number of mappings is
 * bounded and flat.
 *
 * A phase is measured when it has filled its memory, after a quarter of its time.  What the largest blocks had goes
 * back in the second and third quarter of the phase after them, now earlier, now later; so that is measured in its last
 * one.  The slope has a standard error, and is judged once, at the end.  If its error is more than twice the bound too
 * little is known, and the test fails.
 *
 *     soak [SECONDS [SEED [MAPPINGS MORE]]]     at most MAPPINGS, and MORE more in the second half than in the first
 *
 * Growth is judged from five minutes on, as noise hides it in less; until then the second half may have 64 mappings
 * more. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mail.h"

enum { THREADS = 16, LETTERS = 100, LIFE = 20000, LEAST_CYCLES = 4, MOST_CYCLES = 1000 };
enum { LONG = 300, MORE_AT_FIRST = 64 };
#define MOST_GROWTH 0.001 /* per minute */
#define MOST_ERROR  0.002
/* The program and its libraries have 25 mappings, each thread a stack and its guard, and libc keeps the stacks of up to
 * five threads that have ended.  That leaves the heap 60. */
static size_t most_mappings = 128, more_mappings = 8;
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

/* Returns the mean of resident memory over what is measured of the phase.  Samples are weighted by time, as they
 * come late while processors are busy, which they are more in some phases than in others. */
static double run_phase(double seconds, size_t *mappings)
{
    double begun = now(), from = begun + seconds * (phase == 0 ? 0.75 : 0.25), last = begun, sum = 0, measured = 0;
    while (last < begun + seconds || measured == 0) {
        sleep_for(0.01);
        double then = last;
        last = now();
        if (then >= from) {
            sum += (double)resident_bytes() * (last - then);
            measured += last - then;
        }
        size_t count = count_mappings();
        if (count > *mappings) *mappings = count;
        for (size_t i = 0; i < THREADS; i++)
            if (pthread_tryjoin_np(seats[i].thread, NULL) == 0) seats[i].thread = start_thread(live, &seats[i]);
    }
    return sum / measured;
}

/* Runs all phases once. */
static struct cycle run_cycle(double begun, double seconds_a_phase)
{
    struct cycle cycle = {0};
    for (unsigned next = 0; next < COUNT_OF(largest); next++) {
        __atomic_store_n(&phase, next, __ATOMIC_RELAXED);
        cycle.resident += run_phase(seconds_a_phase, &cycle.mappings) / COUNT_OF(largest);
    }
    cycle.minutes = (now() - begun) / 60;
    return cycle;
}

static int by_value(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* In a minute, as a share of the mean: the median of the slopes between any two cycles (Sen 1968), which a cycle in
 * which another process began or ended does not move.  Its standard error is half of the interval by Kendall's tau. */
static struct slope {
    double rise, error;
} growth(const struct cycle *cycles, size_t count)
{
    static double slopes[MOST_CYCLES * (MOST_CYCLES - 1) / 2];
    double n = (double)count, mean = 0, around = sqrt(n * (n - 1) * (2 * n + 5) / 18) / 2;
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++) {
        mean += cycles[i].resident / n;
        for (size_t j = 0; j < i; j++)
            slopes[pairs++] = (cycles[i].resident - cycles[j].resident) / (cycles[i].minutes - cycles[j].minutes);
    }
    qsort(slopes, pairs, sizeof *slopes, by_value);
    double middle = (double)(pairs - 1) / 2, low = slopes[(size_t)fmax(middle - around, 0)];
    double high = slopes[(size_t)fmin(middle + around, (double)(pairs - 1))];
    return (struct slope){slopes[pairs / 2] / mean, (high - low) / 2 / mean};
}

static size_t peak_mappings(const struct cycle *cycles, size_t count)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++)
        if (cycles[i].mappings > most) most = cycles[i].mappings;
    return most;
}

static void judge(const struct cycle *cycles, size_t count, bool is_long)
{
    size_t half = count / 2, first = peak_mappings(cycles, half), second = peak_mappings(cycles + half, count - half);
    struct slope slope = growth(cycles, count);
    printf("measured: resident %.1f MiB, growing by %.3f %% a minute (standard error %.3f) in %.0f minutes; ",
           cycles[count - 1].resident / MIB(1), 100 * slope.rise, 100 * slope.error, cycles[count - 1].minutes);
    printf("mappings %zu, then %zu\n", first, second);
    fflush(stdout);
    CHECK(first <= most_mappings && second <= most_mappings);
    CHECK(second <= first + (is_long ? more_mappings : MORE_AT_FIRST));
    CHECK(!is_long || slope.error <= MOST_ERROR);
    CHECK(!is_long || slope.rise <= MOST_GROWTH);
}

int main(int argc, char **argv)
{
    static struct cycle cycles[MOST_CYCLES];
    double seconds = argc > 1 ? atof(argv[1]) : 20, begun = now();
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, written = 0;
    double seconds_a_phase = seconds < 80 ? seconds / 20 : 4;
    size_t count = 0;
    if (argc > 4) {
        most_mappings = strtoul(argv[3], NULL, 10);
        more_mappings = strtoul(argv[4], NULL, 10);
    }
    mail_start();
    for (size_t i = 0; i < THREADS; i++) {
        seats[i].random = seed * 1000003 + i;
        for (size_t j = 0; j < LETTERS; j++) seats[i].letters[j] = mail_new_letter();
        seats[i].thread = start_thread(live, &seats[i]);
    }
    while ((now() < begun + seconds || count < LEAST_CYCLES) && count < MOST_CYCLES)
        cycles[count++] = run_cycle(begun, seconds_a_phase);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < THREADS; i++) {
        join_thread(seats[i].thread);
        written += seats[i].written;
    }
    CHECK(count < MOST_CYCLES);
    judge(cycles + count / 5, count - count / 5, seconds >= LONG);
    printf("tried=%llu held=%llu\n", (unsigned long long)written, (unsigned long long)written);
}
