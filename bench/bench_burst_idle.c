/* After a burst, does an idle process give its memory back?
 *
 * Threads make `mib` MiB of `size`-byte objects, all touched; one other thread frees them all; then nobody
 * calls the allocator any more and RSS is read once a second.  All threads stay alive, asleep: what they
 * cache counts. */
#include "bench.h"
#include "helper.h"

enum { MIB, SIZE, THREADS, IDLE_S };
static struct bench_param param[] = {
    [MIB] = {.name = "mib", .value = 1024},
    [SIZE] = {.name = "size", .value = 1000},
    [THREADS] = {.name = "threads", .value = 8},
    [IDLE_S] = {.name = "idle_s", .value = 10},
};

static void **objects; /* [thread][share]; from bench_map, so not in any figure */
static uint64_t share;

static void make(uint64_t thread)
{
    for (uint64_t i = thread * share; i < (thread + 1) * share; i++)
        objects[i] = bench_alloc(param[SIZE].value, BENCH_TOUCH_ALL);
}

static void free_all(uint64_t thread)
{
    (void)thread;
    for (uint64_t i = 0; i < param[THREADS].value * share; i++) free(objects[i]);
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    bench_check_sizes(param[SIZE].value, param[SIZE].value);
    uint64_t threads = param[THREADS].value;
    if (threads < 1) bench_die("bench: needs a thread");
    share = (param[MIB].value << 20) / param[SIZE].value / threads;
    objects = bench_map(threads * share * sizeof *objects);
    struct helper *helpers = bench_map((threads + 1) * sizeof *helpers);
    for (uint64_t i = 0; i <= threads; i++) helper_hire(&helpers[i], i);

    for (uint64_t i = 0; i < threads; i++) helper_give(&helpers[i], make);
    for (uint64_t i = 0; i < threads; i++) helper_await(&helpers[i]);
    uint64_t full = bench_rss_kib();
    helper_do(&helpers[threads], free_all);
    uint64_t freed = bench_rss_kib();
    bench_idle(param[IDLE_S].value);
    printf(" full_kib=%llu freed_kib=%llu", (unsigned long long)full, (unsigned long long)freed);
    bench_finish();
    return 0;
}
