#define BENCH_QUESTION "What does a thread that allocates a little cost, and what is left when it has ended?"
/* `threads` threads live at once, each with a few small touched objects.  per_thread_kib is the growth of RSS,
 * stack included, for each of them.  Then they free their objects and end.  left_share is the share of that
 * growth that is left a second later. */
#include "bench.h"
#include "helper.h"

enum { THREADS, OBJECTS, SIZE };
static struct bench_param param[] = {
    [THREADS] = {.name = "threads", .value = 2000, .min = 1, .max = 1 << 20},
    [OBJECTS] = {.name = "objects", .value = 10, .min = 1},
    [SIZE] = {.name = "size", .value = 100, .min = 1},
};

static void **objects; /* [thread][object]; from bench_map, so in no figure */

static void make(uint64_t thread)
{
    for (uint64_t i = 0; i < param[OBJECTS].value; i++)
        objects[thread * param[OBJECTS].value + i] = bench_alloc(param[SIZE].value, BENCH_TOUCH_ALL);
}

static void free_mine(uint64_t thread)
{
    for (uint64_t i = 0; i < param[OBJECTS].value; i++)
        bench_release(objects[thread * param[OBJECTS].value + i], param[SIZE].value, BENCH_TOUCH_ALL);
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    uint64_t threads = param[THREADS].value;
    objects = bench_map(threads * param[OBJECTS].value * sizeof *objects);
    struct helper *helpers = bench_map(threads * sizeof *helpers);
    uint64_t before = bench_rss_kib(), start = bench_now_ns();
    for (uint64_t i = 0; i < threads; i++) {
        helper_hire(&helpers[i], i);
        helper_give(&helpers[i], make);
    }
    for (uint64_t i = 0; i < threads; i++) helper_await(&helpers[i]);
    uint64_t spent = bench_now_ns() - start;
    double growth = (double)bench_rss_kib() - (double)before;
    start = bench_now_ns();
    for (uint64_t i = 0; i < threads; i++) helper_give(&helpers[i], free_mine);
    for (uint64_t i = 0; i < threads; i++) helper_await(&helpers[i]);
    for (uint64_t i = 0; i < threads; i++) helper_dismiss(&helpers[i]);
    spent += bench_now_ns() - start;
    sleep(1);
    double left = (double)bench_rss_kib() - (double)before;
    bench_print_ops(2 * threads * param[OBJECTS].value, (double)spent / 1e9);
    printf(" before_kib=%llu per_thread_kib=%.2f left_share=%.4f", (unsigned long long)before, growth / (double)threads,
           left / growth);
    bench_finish();
    return 0;
}
