#define BENCH_QUESTION "How fast do objects pass down a chain of threads, each of which makes new ones from old?"
/* A pipeline.  The first stage makes `iters` objects of random size.  Every later one takes an object from the
 * stage before it, makes a new one for the stage after it, and frees what it took.  The last only frees.
 * Bounded rings join the stages; a thread that finds one full or empty yields. */
#include <sched.h>

#include "object.h"
#include "ring.h"

#define RING_SLOTS 1024

enum { STAGES, ITERS, MIN, MAX, LATENCY };
static struct bench_param param[] = {
    [STAGES] = {.name = "stages", .min = 2, .max = BENCH_MAX_THREADS, .required = true},
    [ITERS] = {.name = "iters", .min = 1, .required = true},
    [MIN] = {.name = "min", .required = true},
    [MAX] = {.name = "max", .required = true},
    [LATENCY] = {.name = BENCH_LATENCY},
};

static struct ring *rings; /* [stage that sends] */

static struct object *receive(uint64_t stage)
{
    struct object *o;
    while (!(o = ring_take(&rings[stage - 1]))) sched_yield();
    return o;
}

static void pass_on(uint64_t stage, struct object *o)
{
    while (!ring_send(&rings[stage], o)) sched_yield();
}

static void work(uint64_t stage)
{
    uint64_t random = stage, min = param[MIN].value, max = param[MAX].value;
    for (uint64_t i = 0; i < param[ITERS].value; i++) {
        struct object *old = stage > 0 ? receive(stage) : NULL;
        if (stage < param[STAGES].value - 1)
            pass_on(stage, object_make(bench_random_size((uint32_t)bench_random(&random), min, max)));
        if (old) object_free(old);
    }
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    object_check_sizes(param[MIN].value, param[MAX].value);
    uint64_t stages = param[STAGES].value;
    rings = ring_map(stages - 1, RING_SLOTS);
    double seconds = bench_run_threads(stages, work);
    for (uint64_t i = 0; i < stages - 1; i++)
        if (ring_take(&rings[i])) bench_die("bench: an object was left in a ring");
    bench_print_ops(2 * (stages - 1) * param[ITERS].value, seconds);
    bench_finish();
    return 0;
}
