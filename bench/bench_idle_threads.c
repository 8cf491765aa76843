#define BENCH_QUESTION "What do threads that only wait cost the ones that work?"
/* `idle` threads allocate and free a few objects, and wait.  A second later `busy` threads work, each with its own ws
 * slots. */
#include "churn.h"
#include "helper.h"

#include <unistd.h>

enum { IDLE, BUSY, ITERS, WS, MIN, MAX, TOUCH };
static struct bench_param param[] = {
    [IDLE] = {.name = "idle", .max = BENCH_MAX_THREADS, .required = true},
    [BUSY] = {.name = "busy", .min = 1, .max = BENCH_MAX_THREADS, .required = true},
    [ITERS] = {.name = "iters", .min = 1, .required = true},
    [WS] = {.name = "ws", .min = 1, .required = true},
    [MIN] = {.name = "min", .required = true},
    [MAX] = {.name = "max", .required = true},
    [TOUCH] = {.name = "--touch", .words = BENCH_TOUCH_WORDS},
};

#define FEW 16 /* the slots and iterations of an idle thread */

static void **slots; /* [busy][ws] */
static _Atomic uint64_t ops;

static uint64_t random_size(uint64_t *unused, uint32_t random_bits)
{
    (void)unused;
    return bench_random_size(random_bits, param[MIN].value, param[MAX].value);
}

static void do_little(uint64_t id)
{
    void *mine[FEW] = {NULL};
    churn(mine, FEW, FEW, param[TOUCH].value, param[BUSY].value + id, random_size);
}

static void work(uint64_t id)
{
    uint64_t ws = param[WS].value;
    ops += churn(slots + id * ws, ws, param[ITERS].value, param[TOUCH].value, id, random_size);
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    bench_check_sizes(param[MIN].value, param[MAX].value);
    uint64_t idle = param[IDLE].value, busy = param[BUSY].value;
    slots = bench_map(busy * param[WS].value * sizeof *slots);
    struct helper *helpers = bench_map((idle + 1) * sizeof *helpers);
    for (uint64_t i = 0; i < idle; i++) {
        helper_hire(&helpers[i], i);
        helper_do(&helpers[i], do_little);
    }
    sleep(1); /* so that the allocator can notice that they wait */
    double seconds = bench_run_threads(busy, work);
    for (uint64_t i = 0; i < idle; i++) helper_dismiss(&helpers[i]);
    bench_print_ops(ops, seconds);
    bench_finish();
    return 0;
}
