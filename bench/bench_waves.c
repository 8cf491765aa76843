#define BENCH_QUESTION \
    "How fast are malloc and free where a thread allocates n objects, then frees them all, again and again?"
/* Parsers, compilers, requests and frames allocate in waves.  Objects have one size.  They are freed in the order in
 * which they were allocated, or, with --order last, the last first. */
#include "bench.h"

enum { THREADS, OBJECTS, N, SIZE, ORDER, TOUCH, LATENCY };
enum { ORDER_FIRST, ORDER_LAST };
static struct bench_param param[] = {
    [THREADS] = {.name = "threads", .min = 1, .max = BENCH_MAX_THREADS, .required = true},
    [OBJECTS] = {.name = "objects", .min = 1, .required = true},
    [N] = {.name = "n", .min = 1, .required = true},
    [SIZE] = {.name = "size", .min = 1, .required = true},
    [ORDER] = {.name = "--order", .words = "first|last"},
    [TOUCH] = {.name = "--touch", .words = BENCH_TOUCH_WORDS},
    [LATENCY] = {.name = BENCH_LATENCY},
};

static void free_wave(void **wave, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        bench_release(wave[param[ORDER].value == ORDER_LAST ? n - 1 - i : i], param[SIZE].value, param[TOUCH].value);
}

static void work(uint64_t id)
{
    (void)id;
    uint64_t n = param[N].value, waves = param[OBJECTS].value / n;
    void **wave = bench_map(n * sizeof *wave);
    for (uint64_t i = 0; i < waves; i++) {
        for (uint64_t k = 0; k < n; k++) wave[k] = bench_alloc(param[SIZE].value, param[TOUCH].value);
        free_wave(wave, n);
    }
}

/* One thread is the main thread: many programs have no other. */
static double run(void)
{
    if (param[THREADS].value > 1) return bench_run_threads(param[THREADS].value, work);
    uint64_t start = bench_now_ns();
    work(0);
    return (double)(bench_now_ns() - start) / 1e9;
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    if (param[N].value > param[OBJECTS].value) bench_refuse("n must be at most objects");
    double seconds = run();
    bench_print_ops(2 * param[THREADS].value * (param[OBJECTS].value / param[N].value) * param[N].value, seconds);
    bench_finish();
    return 0;
}
