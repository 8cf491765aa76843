#define BENCH_QUESTION "Does a program that changes from small to medium to large objects keep the memory of all three?"
/* In each phase one thread makes `mib` MiB of touched objects: small (16 to 512 bytes), medium (1 to 32 KiB) and large
 * (64 KiB to 1 MiB) ones in turn.  Then it frees those of the phase before, all but one in `keep_one_in`, in random
 * order.  It is never idle.  overhead_ratio is RSS over live bytes at the peak of the last phase. */
#include "bench.h"
#include "bulk.h"

enum { MIB, KEEP_ONE_IN, PHASES };
static struct bench_param param[] = {
    [MIB] = {.name = "mib", .value = 64, .min = 2},
    [KEEP_ONE_IN] = {.name = "keep_one_in", .value = 16, .min = 1},
    [PHASES] = {.name = "phases", .value = 12, .min = 2, .max = BENCH_SAMPLES},
};

static const uint64_t sizes[][2] = {{16, 512}, {1024, 32768}, {65536, 1048576}};

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    uint64_t bytes = param[MIB].value << 20, random = 0, ops = 0, spent = 0, live = 0;
    struct bulk *phase = bench_map(param[PHASES].value * sizeof *phase);
    double overhead = 0;
    /* All before the first object, as they are subtracted from a peak that may be of any phase. */
    for (uint64_t i = 0; i < param[PHASES].value; i++) {
        const uint64_t *range = sizes[i % BENCH_COUNT(sizes)];
        bulk_map(&phase[i], bulk_room(bytes, range[0], range[1]));
    }
    for (uint64_t i = 0; i < param[PHASES].value; i++) {
        const uint64_t *range = sizes[i % BENCH_COUNT(sizes)];
        uint64_t start = bench_now_ns();
        bulk_fill(&phase[i], bytes, range[0], range[1], &random);
        spent += bench_now_ns() - start;
        live += phase[i].bytes;
        ops += phase[i].count;
        overhead = (double)bench_sample_rss() * 1024 / (double)live;
        if (i == 0) continue;
        struct bulk *before = &phase[i - 1];
        bulk_shuffle(before, 0, &random);
        live -= before->bytes;
        ops += before->count;
        start = bench_now_ns();
        bulk_trim(before, before->count / param[KEEP_ONE_IN].value);
        spent += bench_now_ns() - start;
        ops -= before->count;
        live += before->bytes;
    }
    for (uint64_t i = 0; i < param[PHASES].value; i++) bulk_trim(&phase[i], 0);

    bench_print_ops(ops, (double)spent / 1e9);
    printf(" overhead_ratio=%.3f", overhead);
    bench_finish();
    return 0;
}
