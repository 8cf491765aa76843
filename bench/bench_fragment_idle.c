#define BENCH_QUESTION "Does an idle process give back the pages between a few survivors?"
/* One thread makes `mib` MiB of touched objects of random sizes, and frees all but one in `keep_one_in`, chosen
 * at random, in random order.  Then it no longer calls the allocator, and RSS is recorded.  live_share is the
 * survivors' share of the peak, below which no allocator can go. */
#include "bench.h"
#include "bulk.h"

enum { MIB, MIN, MAX, KEEP_ONE_IN, IDLE_S };
static struct bench_param param[] = {
    [MIB] = {.name = "mib", .value = 256, .min = 1},
    [MIN] = {.name = "min", .value = 16},
    [MAX] = {.name = "max", .value = 4096},
    [KEEP_ONE_IN] = {.name = "keep_one_in", .value = 64, .min = 1},
    [IDLE_S] = {.name = "idle_s", .value = 10, .min = 1, .max = BENCH_IDLE_MAX},
};

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    uint64_t min = param[MIN].value, max = param[MAX].value, bytes = param[MIB].value << 20, random = 0;
    bench_check_sizes(min, max);
    struct bulk bulk;
    bulk_map(&bulk, bulk_room(bytes, min, max));

    uint64_t start = bench_now_ns();
    bulk_fill(&bulk, bytes, min, max, &random);
    uint64_t made = bulk.count, filling = bench_now_ns() - start, full = bench_sample_rss();
    bulk_shuffle(&bulk, 0, &random);
    start = bench_now_ns();
    bulk_trim(&bulk, made / param[KEEP_ONE_IN].value);
    uint64_t freeing = bench_now_ns() - start, freed = bench_sample_rss();
    bench_idle(param[IDLE_S].value);

    bench_print_ops(2 * made - bulk.count, (double)(filling + freeing) / 1e9);
    printf(" full_kib=%llu freed_kib=%llu live_share=%.4f", (unsigned long long)full, (unsigned long long)freed,
           (double)bulk.bytes / 1024 / (double)bench_peak_kib());
    bench_finish();
    return 0;
}
