#define BENCH_QUESTION "After a burst, does an idle process give its memory back?"
/* Threads make `mib` MiB of `size`-byte objects, all touched, and one other thread frees them all.  Then no
 * thread calls the allocator any more, and RSS is recorded.  All threads stay alive, asleep, so what they
 * cache counts. */
#include "bench.h"
#include "helper.h"

enum { MIB, SIZE, THREADS, IDLE_S };
static struct bench_param param[] = {
    [MIB] = {.name = "mib", .value = 1024, .min = 1},
    [SIZE] = {.name = "size", .value = 1000, .min = 1},
    [THREADS] = {.name = "threads", .value = 8, .min = 1, .max = BENCH_MAX_THREADS},
    [IDLE_S] = {.name = "idle_s", .value = 10, .min = 1, .max = BENCH_IDLE_MAX},
};

static void **objects; /* [thread][share]; from bench_map, so in no figure */
static uint64_t share;

static void make(uint64_t thread)
{
    for (uint64_t i = thread * share; i < (thread + 1) * share; i++)
        objects[i] = bench_alloc(param[SIZE].value, BENCH_TOUCH_ALL);
}

static void free_all(uint64_t thread)
{
    (void)thread;
    for (uint64_t i = 0; i < param[THREADS].value * share; i++)
        bench_release(objects[i], param[SIZE].value, BENCH_TOUCH_ALL);
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    uint64_t threads = param[THREADS].value;
    share = (param[MIB].value << 20) / param[SIZE].value / threads;
    if (!share) bench_refuse("mib must have room for an object of each thread");
    objects = bench_map(threads * share * sizeof *objects);
    struct helper *helpers = bench_map((threads + 1) * sizeof *helpers);
    for (uint64_t i = 0; i <= threads; i++) helper_hire(&helpers[i], i);

    uint64_t start = bench_now_ns();
    for (uint64_t i = 0; i < threads; i++) helper_give(&helpers[i], make);
    for (uint64_t i = 0; i < threads; i++) helper_await(&helpers[i]);
    uint64_t making = bench_now_ns() - start, full = bench_sample_rss();
    start = bench_now_ns();
    helper_do(&helpers[threads], free_all);
    uint64_t freeing = bench_now_ns() - start, freed = bench_sample_rss();
    bench_idle(param[IDLE_S].value);
    bench_print_ops(2 * threads * share, (double)(making + freeing) / 1e9);
    printf(" full_kib=%llu freed_kib=%llu", (unsigned long long)full, (unsigned long long)freed);
    bench_finish();
    return 0;
}
