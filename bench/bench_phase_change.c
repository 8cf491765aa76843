#define BENCH_QUESTION "When a program turns to larger objects, is the memory of its smaller ones used again?"
/* In each phase one thread makes `mib` MiB of touched objects of random sizes, then frees all but one in
 * `keep_one_in` of them, chosen at random, in random order.  The first phase has objects of min to max bytes.
 * Objects of each later one are four times as large, and fit between earlier survivors only if the allocator
 * joins free memory.  The thread is never idle.  overhead_ratio is the largest quotient of RSS and live bytes at
 * the peaks of the phases; growth_ratio is RSS of the last phase over that of the first. */
#include "bench.h"
#include "bulk.h"

#define GROWTH 4

enum { MIB, MIN, MAX, KEEP_ONE_IN, PHASES };
static struct bench_param param[] = {
    [MIB] = {.name = "mib", .value = 128, .min = 1},
    [MIN] = {.name = "min", .value = 16},
    [MAX] = {.name = "max", .value = 128, .max = 65536},
    [KEEP_ONE_IN] = {.name = "keep_one_in", .value = 32, .min = 1},
    [PHASES] = {.name = "phases", .value = 4, .min = 2, .max = 8},
};

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    uint64_t min = param[MIN].value, max = param[MAX].value, bytes = param[MIB].value << 20, random = 0;
    bench_check_sizes(min, max);
    struct bulk bulk;
    bulk_map(&bulk, bulk_room(bytes, min, max) * 2);

    uint64_t ops = 0, spent = 0, first = 0, last = 0;
    double overhead = 0;
    for (uint64_t phase = 0; phase < param[PHASES].value; phase++, min *= GROWTH, max *= GROWTH) {
        uint64_t before = bulk.count, start = bench_now_ns();
        bulk_fill(&bulk, bytes, min, max, &random);
        uint64_t made = bulk.count - before;
        spent += bench_now_ns() - start;
        last = bench_sample_rss();
        if (phase == 0) first = last;
        if ((double)last * 1024 > overhead * (double)bulk.bytes) overhead = (double)last * 1024 / (double)bulk.bytes;
        bulk_shuffle(&bulk, before, &random);
        start = bench_now_ns();
        bulk_trim(&bulk, before + made / param[KEEP_ONE_IN].value);
        spent += bench_now_ns() - start;
        bench_sample_rss();
        ops += made + made - (bulk.count - before);
    }
    bulk_trim(&bulk, 0);

    bench_print_ops(ops, (double)spent / 1e9);
    printf(" overhead_ratio=%.3f growth_ratio=%.3f", overhead, (double)last / (double)first);
    bench_finish();
    return 0;
}
