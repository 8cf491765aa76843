/* Does an idle process give back the pages between a few survivors?
 *
 * One thread makes `mib` MiB of touched objects of random sizes, frees all but one in `keep_one_in`, chosen
 * at random, in random order, and then no longer calls the allocator; RSS is read once a second.  live_share
 * is what the survivors' own bytes are of the peak: no allocator can go below it. */
#include "bench.h"

enum { MIB, MIN, MAX, KEEP_ONE_IN, IDLE_S };
static struct bench_param param[] = {
    [MIB] = {.name = "mib", .value = 256},      [MIN] = {.name = "min", .value = 16},
    [MAX] = {.name = "max", .value = 4096},     [KEEP_ONE_IN] = {.name = "keep_one_in", .value = 64},
    [IDLE_S] = {.name = "idle_s", .value = 10},
};

struct object {
    void *p;
    uint64_t size;
};

/* Returns how many objects it made. */
static uint64_t fill(struct object *objects, uint64_t room, uint64_t *random)
{
    uint64_t count = 0, min = param[MIN].value, sizes = param[MAX].value - min + 1;
    for (uint64_t left = param[MIB].value << 20; left >= param[MAX].value; left -= objects[count++].size) {
        if (count == room) bench_die("bench: more objects than room for their addresses");
        uint64_t size = min + bench_scale((uint32_t)bench_random(random), sizes);
        objects[count] = (struct object){bench_alloc(size, BENCH_TOUCH_ALL), size};
    }
    return count;
}

static void shuffle(struct object *objects, uint64_t count, uint64_t *random)
{
    for (uint64_t i = count; i > 1; i--) {
        uint64_t other = bench_scale((uint32_t)bench_random(random), i);
        struct object swapped = objects[i - 1];
        objects[i - 1] = objects[other];
        objects[other] = swapped;
    }
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    bench_check_sizes(param[MIN].value, param[MAX].value);
    if (param[KEEP_ONE_IN].value < 1) bench_die("bench: keep_one_in must be 1 or more");
    /* Twice what is expected; from bench_map, so not in any figure. */
    uint64_t room = (param[MIB].value << 20) / (param[MIN].value + param[MAX].value) * 4;
    struct object *objects = bench_map(room * sizeof *objects);
    uint64_t random = 0, live_bytes = 0;
    uint64_t count = fill(objects, room, &random), kept = count / param[KEEP_ONE_IN].value;
    uint64_t full = bench_rss_kib();
    shuffle(objects, count, &random);
    for (uint64_t i = 0; i < kept; i++) live_bytes += objects[i].size;
    for (uint64_t i = kept; i < count; i++) free(objects[i].p);
    uint64_t freed = bench_rss_kib();
    bench_idle(param[IDLE_S].value);
    printf(" full_kib=%llu freed_kib=%llu live_share=%.4f", (unsigned long long)full, (unsigned long long)freed,
           (double)live_bytes / 1024 / (double)bench_peak_kib());
    bench_finish();
    return 0;
}
