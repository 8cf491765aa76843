#define BENCH_QUESTION "How fast do objects pass from threads that only malloc to threads that only free?"
/* Each producer makes iters objects of random size and sends them to the consumers in turn, through one bounded
 * ring for each pair.  It skips a consumer whose ring is full, and yields when all are.  Objects in the rings are
 * live, and there are more of them the faster the producers are, so read live_peak_kib beside peak_kib.  With --matched
 * a consumer leaves a ring alone until it is half full, so that it does not wait for the producer at every object. */
#include <sched.h>

#include "bench.h"
#include "ring.h"

#define RING_SLOTS  4096
#define WATCH_EVERY 256 /* objects that the first producer sends */

enum { PRODUCERS, CONSUMERS, ITERS, MIN, MAX, TOUCH, MATCHED, LATENCY };
static struct bench_param param[] = {
    [PRODUCERS] = {.name = "producers", .min = 1, .max = BENCH_MAX_THREADS, .required = true},
    [CONSUMERS] = {.name = "consumers", .min = 1, .max = BENCH_MAX_THREADS, .required = true},
    [ITERS] = {.name = "iters", .min = 1, .required = true},
    [MIN] = {.name = "min", .required = true},
    [MAX] = {.name = "max", .required = true},
    [TOUCH] = {.name = "--touch", .words = BENCH_TOUCH_WORDS},
    [MATCHED] = {.name = "--matched"},
    [LATENCY] = {.name = BENCH_LATENCY},
};

static struct ring *rings; /* [consumer][producer] */
static _Atomic uint64_t producers_done, freed;
static uint64_t live_peak; /* the most objects in all rings that the first producer saw */

static void watch_rings(void)
{
    uint64_t waiting = 0, count = param[PRODUCERS].value * param[CONSUMERS].value;
    for (uint64_t i = 0; i < count; i++) waiting += ring_waiting(&rings[i]);
    if (waiting > live_peak) live_peak = waiting;
}

static void produce(uint64_t producer)
{
    uint64_t random = producer, min = param[MIN].value, max = param[MAX].value;
    uint64_t producers = param[PRODUCERS].value, consumers = param[CONSUMERS].value, consumer = 0;
    for (uint64_t i = 0; i < param[ITERS].value; i++) {
        uint64_t size = bench_random_size((uint32_t)bench_random(&random), min, max);
        void *p = bench_alloc(size, param[TOUCH].value);
        uint64_t refused = 0;
        while (!ring_send(&rings[consumer * producers + producer], p)) {
            if (++refused % consumers == 0) sched_yield();
            consumer = (consumer + 1) % consumers;
        }
        consumer = (consumer + 1) % consumers;
        if (producer == 0 && i % WATCH_EVERY == 0) watch_rings();
    }
    atomic_fetch_add(&producers_done, 1);
}

static uint64_t free_arrivals(uint64_t consumer, uint64_t least)
{
    uint64_t count = 0, producers = param[PRODUCERS].value;
    for (uint64_t producer = 0; producer < producers; producer++) {
        struct ring *ring = &rings[consumer * producers + producer];
        void *p;
        if (least && ring_waiting(ring) < least) continue;
        for (; (p = ring_take(ring)); count++) bench_free(p);
    }
    return count;
}

static void consume(uint64_t consumer)
{
    uint64_t total = 0;
    for (bool last = false; !last;) {
        /* This is read first, so that the last producer's objects are seen afterwards. */
        last = atomic_load(&producers_done) == param[PRODUCERS].value;
        uint64_t count = free_arrivals(consumer, param[MATCHED].value && !last ? RING_SLOTS / 2 : 0);
        total += count;
        if (count == 0) sched_yield();
    }
    atomic_fetch_add(&freed, total);
}

static void work(uint64_t id)
{
    if (id < param[PRODUCERS].value)
        produce(id);
    else
        consume(id - param[PRODUCERS].value);
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    bench_check_sizes(param[MIN].value, param[MAX].value);
    uint64_t producers = param[PRODUCERS].value, consumers = param[CONSUMERS].value;
    rings = ring_map(producers * consumers, RING_SLOTS);
    double seconds = bench_run_threads(producers + consumers, work);
    if (freed != producers * param[ITERS].value) bench_die("bench: an object was lost");
    bench_print_ops(2 * freed, seconds);
    bench_print_live_peak(live_peak, param[MIN].value, param[MAX].value);
    bench_finish();
    return 0;
}
