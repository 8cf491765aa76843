#define BENCH_QUESTION "How fast are malloc and free in short-lived threads that replace what dead threads left them?"
/* The pattern of a server that gives each connection to a new thread (known from larson).  There are `threads`
 * lines of succession at once, each with `slots` objects.  A line starts `rounds` threads in sequence.  Each thread
 * frees the object in a random slot, and puts a new one there, `iters` times.  Then it ends, and its successor begins
 * with the same slots.  So at most `slots` of a thread's frees are of objects that a predecessor made (of 300000 iters
 * with 1000 slots one in 300); the others are of its own. */
#include "object.h"

enum { THREADS, ROUNDS, ITERS, SLOTS, MIN, MAX, LATENCY };
static struct bench_param param[] = {
    [THREADS] = {.name = "threads", .min = 1, .max = BENCH_MAX_THREADS, .required = true},
    [ROUNDS] = {.name = "rounds", .min = 1, .required = true},
    [ITERS] = {.name = "iters", .min = 1, .required = true},
    [SLOTS] = {.name = "slots", .min = 1, .required = true},
    [MIN] = {.name = "min", .required = true},
    [MAX] = {.name = "max", .required = true},
    [LATENCY] = {.name = BENCH_LATENCY},
};

struct line {
    _Alignas(BENCH_CACHE_LINE) struct object **slot;
    uint64_t random;
};

static struct line *lines;

static struct object *make(uint64_t random)
{
    return object_make(bench_random_size((uint32_t)(random >> 32), param[MIN].value, param[MAX].value));
}

static void *live(void *line)
{
    struct line *l = line;
    for (uint64_t i = 0; i < param[ITERS].value; i++) {
        uint64_t random = bench_random(&l->random);
        struct object **slot = &l->slot[bench_scale((uint32_t)random, param[SLOTS].value)];
        object_free(*slot);
        *slot = make(random);
    }
    return NULL;
}

static void run_line(uint64_t id)
{
    struct line *l = &lines[id];
    for (uint64_t i = 0; i < param[SLOTS].value; i++) l->slot[i] = make(bench_random(&l->random));
    for (uint64_t i = 0; i < param[ROUNDS].value; i++) pthread_join(bench_spawn(live, l), NULL);
    for (uint64_t i = 0; i < param[SLOTS].value; i++) object_free(l->slot[i]);
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    object_check_sizes(param[MIN].value, param[MAX].value);
    uint64_t threads = param[THREADS].value, slots = param[SLOTS].value, rounds = param[ROUNDS].value;
    lines = bench_map(threads * sizeof *lines);
    struct object **slot = bench_map(threads * slots * sizeof *slot);
    for (uint64_t i = 0; i < threads; i++) lines[i] = (struct line){.slot = slot + i * slots, .random = i};
    double seconds = bench_run_threads(threads, run_line);
    bench_print_ops(2 * threads * (slots + rounds * param[ITERS].value), seconds);
    printf(" lives=%llu", (unsigned long long)(threads * rounds));
    bench_finish();
    return 0;
}
