#define BENCH_QUESTION "How fast are whole structures of linked objects built, handed to other threads, and torn down?"
/* Known from mstress.  Each round starts new threads.  A thread builds `trees` binary trees of `nodes` nodes of
 * random size.  It keeps every other tree until it has built all, and then tears them down.  The others it leaves
 * in random places that all threads share, and tears down the trees that it finds there.  These may be of threads
 * that have ended.  The main thread tears down the trees that the last round left. */
#include "object.h"

#define PLACES 64 /* for each thread */

enum { THREADS, ROUNDS, TREES, NODES, MIN, MAX, LATENCY };
static struct bench_param param[] = {
    [THREADS] = {.name = "threads", .min = 1, .max = BENCH_MAX_THREADS, .required = true},
    [ROUNDS] = {.name = "rounds", .min = 1, .required = true},
    [TREES] = {.name = "trees", .min = 1, .required = true},
    [NODES] = {.name = "nodes", .min = 1, .max = 1000000, .required = true},
    [MIN] = {.name = "min", .min = OBJECT_MIN + 2 * sizeof(void *), .required = true},
    [MAX] = {.name = "max", .required = true},
    [LATENCY] = {.name = BENCH_LATENCY},
};

static _Atomic(struct object *) *places;
static struct object **kept; /* [thread][tree] */
static _Atomic uint64_t freed;
static uint64_t round_now;

/* Splits the nodes at random between both sides, so that the depth stays small. */
static struct object *build(uint64_t nodes, uint64_t *state)
{
    if (nodes == 0) return NULL;
    uint64_t random = bench_random(state), left = bench_scale((uint32_t)random, nodes);
    struct object *root = object_make(bench_random_size((uint32_t)(random >> 32), param[MIN].value, param[MAX].value));
    root->body[0] = build(left, state);
    root->body[1] = build(nodes - 1 - left, state);
    return root;
}

/* Returns the number of nodes.  A node is freed before its children, so that a circle ends at a broken seal. */
static uint64_t tear_down(struct object *root)
{
    if (!root) return 0;
    struct object *left = root->body[0], *right = root->body[1];
    object_free(root);
    return 1 + tear_down(left) + tear_down(right);
}

static void work(uint64_t id)
{
    uint64_t random = round_now * param[THREADS].value + id, nodes = 0, keeping = 0;
    struct object **mine = kept + id * param[TREES].value;
    for (uint64_t i = 0; i < param[TREES].value; i++) {
        struct object *tree = build(param[NODES].value, &random);
        if (i % 2) {
            mine[keeping++] = tree;
        } else {
            uint64_t place = bench_scale((uint32_t)bench_random(&random), PLACES * param[THREADS].value);
            nodes += tear_down(atomic_exchange(&places[place], tree));
        }
    }
    while (keeping > 0) nodes += tear_down(mine[--keeping]);
    atomic_fetch_add(&freed, nodes);
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    object_check_sizes(param[MIN].value, param[MAX].value);
    uint64_t threads = param[THREADS].value;
    places = bench_map(PLACES * threads * sizeof *places);
    kept = bench_map(threads * param[TREES].value * sizeof *kept);
    double seconds = 0;
    for (; round_now < param[ROUNDS].value; round_now++) seconds += bench_run_threads(threads, work);
    uint64_t within = freed;
    for (uint64_t i = 0; i < PLACES * threads; i++) freed += tear_down(places[i]);
    uint64_t made = threads * param[ROUNDS].value * param[TREES].value * param[NODES].value;
    if (freed != made) bench_die("bench: an object was lost");
    bench_print_ops(made + within, seconds);
    bench_finish();
    return 0;
}
