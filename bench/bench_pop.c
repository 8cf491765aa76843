#define BENCH_QUESTION "How fast does a thread allocate what another thread freed for it?"
/* In each round the main thread makes all objects, and a helper frees them: so they are on their way to their owner.
 * Only the main thread's mallocs are measured, with what --touch writes, from the second round on.  Both are pinned to
 * one processor, since the objects are to be in its cache whoever wrote them, and the clock is to see nothing but the
 * way back. */
#include <sched.h>

#include "bench.h"
#include "helper.h"

enum { ROUNDS, OBJECTS, MIN, MAX, TOUCH };
static struct bench_param param[] = {
    [ROUNDS] = {.name = "rounds", .min = 1, .required = true},
    [OBJECTS] = {.name = "objects", .min = 1, .required = true},
    [MIN] = {.name = "min", .required = true},
    [MAX] = {.name = "max", .required = true},
    [TOUCH] = {.name = "--touch", .words = BENCH_TOUCH_WORDS},
};

static void **objects; /* from bench_map */

static void pin_to_one_processor(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) bench_die("bench: cannot be pinned to a processor");
}

static void make_all(void)
{
    uint64_t random = 1;
    for (uint64_t i = 0; i < param[OBJECTS].value; i++) {
        uint64_t size = bench_random_size((uint32_t)bench_random(&random), param[MIN].value, param[MAX].value);
        objects[i] = bench_alloc(size, param[TOUCH].value);
    }
}

static void free_all(uint64_t id)
{
    (void)id;
    for (uint64_t i = 0; i < param[OBJECTS].value; i++) bench_release(objects[i], 1, param[TOUCH].value);
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    bench_check_sizes(param[MIN].value, param[MAX].value);
    pin_to_one_processor();
    objects = bench_map(param[OBJECTS].value * sizeof *objects);
    struct helper helper = {0};
    helper_hire(&helper, 0);
    make_all();
    helper_do(&helper, free_all);
    uint64_t spent_ns = 0;
    for (uint64_t i = 0; i < param[ROUNDS].value; i++) {
        uint64_t start = bench_now_ns();
        make_all();
        spent_ns += bench_now_ns() - start;
        helper_do(&helper, free_all);
    }
    helper_dismiss(&helper);
    bench_print_ops(param[ROUNDS].value * param[OBJECTS].value, (double)spent_ns / 1e9);
    bench_finish();
    return 0;
}
