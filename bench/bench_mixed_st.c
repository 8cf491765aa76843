#define BENCH_QUESTION "How fast are malloc and free on one thread, with a working set of ws objects of random size?"
/* --dist uniform: every size from min to max is equally likely.  --dist app: most objects are small, as in
 * programs: 80 % are min-256, 15 % 257-2048, 5 % 2049-max. */
#include "churn.h"

enum { ITERS, WS, MIN, MAX, DIST, TOUCH, LATENCY };
enum { DIST_UNIFORM, DIST_APP };
static struct bench_param param[] = {
    [ITERS] = {.name = "iters", .min = 1, .required = true},
    [WS] = {.name = "ws", .min = 1, .required = true},
    [MIN] = {.name = "min", .required = true},
    [MAX] = {.name = "max", .required = true},
    [DIST] = {.name = "--dist", .words = "uniform|app"},
    [TOUCH] = {.name = "--touch", .words = BENCH_TOUCH_WORDS},
    [LATENCY] = {.name = BENCH_LATENCY},
};

static uint64_t random_size(uint64_t *state, uint32_t random_bits)
{
    uint64_t min = param[MIN].value, max = param[MAX].value;
    if (param[DIST].value == DIST_APP) {
        uint64_t percent = bench_scale((uint32_t)bench_random(state), 100);
        if (percent < 80)
            max = 256;
        else if (percent < 95)
            min = 257, max = 2048;
        else
            min = 2049;
    }
    return bench_random_size(random_bits, min, max);
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    bench_check_sizes(param[MIN].value, param[MAX].value);
    if (param[DIST].value == DIST_APP && (param[MIN].value > 256 || param[MAX].value < 2049))
        bench_refuse("--dist app needs min <= 256 and max >= 2049");
    void **slots = bench_map(param[WS].value * sizeof *slots);
    uint64_t start = bench_now_ns();
    uint64_t ops = churn(slots, param[WS].value, param[ITERS].value, param[TOUCH].value, 0, random_size);
    bench_print_ops(ops, (double)(bench_now_ns() - start) / 1e9);
    bench_finish();
    return 0;
}
