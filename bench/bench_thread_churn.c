#define BENCH_QUESTION "Does memory stay behind when threads come and go?"
/* `threads` threads are started in sequence, with `alive` of them at a time.  Each first frees the objects that
 * an ended thread left, and then leaves touched objects of its own.  The main thread frees those of the last
 * threads.  So at the end no object is live, and end_kib is what the allocator kept. */
#include "bench.h"
#include "helper.h"

enum { THREADS, ALIVE, OBJECTS, MIN, MAX };
static struct bench_param param[] = {
    [THREADS] = {.name = "threads", .value = 10000, .min = 1},
    [ALIVE] = {.name = "alive", .value = 200, .min = 1, .max = 1 << 20},
    [OBJECTS] = {.name = "objects", .value = 100, .min = 1},
    [MIN] = {.name = "min", .value = 16},
    [MAX] = {.name = "max", .value = 1024},
};

static void **left; /* [seat][object]; from bench_map, so in no figure */

static void clear_seat(uint64_t seat)
{
    for (uint64_t i = 0; i < param[OBJECTS].value; i++)
        bench_release(left[seat * param[OBJECTS].value + i], 1, BENCH_TOUCH_FIRST);
}

static void live(uint64_t thread)
{
    uint64_t seat = thread % param[ALIVE].value, random = thread;
    if (thread >= param[ALIVE].value) clear_seat(seat);
    for (uint64_t i = 0; i < param[OBJECTS].value; i++) {
        uint64_t size = bench_random_size((uint32_t)bench_random(&random), param[MIN].value, param[MAX].value);
        left[seat * param[OBJECTS].value + i] = bench_alloc(size, BENCH_TOUCH_ALL);
    }
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    bench_check_sizes(param[MIN].value, param[MAX].value);
    uint64_t threads = param[THREADS].value, alive = param[ALIVE].value;
    if (alive > threads) bench_refuse("alive must be at most threads");
    left = bench_map(alive * param[OBJECTS].value * sizeof *left);
    struct helper *seats = bench_map(alive * sizeof *seats);

    uint64_t start = bench_now_ns();
    for (uint64_t i = 0; i < threads; i++) {
        struct helper *seat = &seats[i % alive];
        if (i >= alive) helper_dismiss(seat);
        helper_hire(seat, i);
        helper_do(seat, live);
    }
    uint64_t last = bench_rss_kib();
    for (uint64_t i = 0; i < alive; i++) {
        helper_dismiss(&seats[i]);
        clear_seat(i);
    }
    double seconds = (double)(bench_now_ns() - start) / 1e9;
    bench_print_ops(2 * threads * param[OBJECTS].value, seconds);
    printf(" threads_per_s=%.0f alive_kib=%llu", (double)threads / seconds, (unsigned long long)last);
    bench_finish();
    return 0;
}
