#define BENCH_QUESTION "How fast are malloc and free of big blocks?"
/* Known from malloc-large.  Every thread has `live` blocks of random size.  An iteration frees a random one and
 * makes another in its place.  Both ends of a block are written, or all of it with --touch all. */
#include "object.h"

enum { THREADS, ITERS, LIVE, MIN, MAX, TOUCH, LATENCY };
enum { TOUCH_ENDS, TOUCH_ALL };
static struct bench_param param[] = {
    [THREADS] = {.name = "threads", .min = 1, .max = BENCH_MAX_THREADS, .required = true},
    [ITERS] = {.name = "iters", .min = 1, .required = true},
    [LIVE] = {.name = "live", .min = 1, .required = true},
    [MIN] = {.name = "min", .required = true},
    [MAX] = {.name = "max", .required = true},
    [TOUCH] = {.name = "--touch", .words = "ends|all"},
    [LATENCY] = {.name = BENCH_LATENCY},
};

static struct object **blocks; /* [thread][block] */

static struct object *make(uint64_t random)
{
    struct object *o = object_make(bench_random_size((uint32_t)(random >> 32), param[MIN].value, param[MAX].value));
    if (param[TOUCH].value == TOUCH_ALL) memset(o->body, BENCH_TOUCH, o->size - OBJECT_MIN);
    return o;
}

static void work(uint64_t id)
{
    uint64_t state = id, live = param[LIVE].value;
    struct object **mine = blocks + id * live;
    for (uint64_t i = 0; i < live; i++) mine[i] = make(bench_random(&state));
    for (uint64_t i = 0; i < param[ITERS].value; i++) {
        uint64_t random = bench_random(&state);
        struct object **block = &mine[bench_scale((uint32_t)random, live)];
        object_free(*block);
        *block = make(random);
    }
    for (uint64_t i = 0; i < live; i++) object_free(mine[i]);
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    object_check_sizes(param[MIN].value, param[MAX].value);
    uint64_t threads = param[THREADS].value, live = param[LIVE].value;
    blocks = bench_map(threads * live * sizeof *blocks);
    double seconds = bench_run_threads(threads, work);
    bench_print_ops(2 * threads * (live + param[ITERS].value), seconds);
    bench_finish();
    return 0;
}
