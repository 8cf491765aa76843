#define BENCH_QUESTION "How fast are malloc and free where threads free each other's objects?"
/* Every thread has ws slots.  An iteration picks one at random.  An empty slot is filled with an object of random
 * size.  A full one is emptied, and the object is freed here or, with a probability of remote_pct %, sent to a
 * random other thread, which frees it.  Threads look for arrivals every DRAIN_EVERY iterations.  If a ring is
 * full, its sender frees the object itself (an overflow), or with --matched waits and takes arrivals meanwhile.
 * The ring_slots of a receiver are divided among its senders.  With one thread all frees are local.  Objects in
 * rings are live, and their number depends on the schedule, so read live_peak_kib beside peak_kib.
 */
#include <sched.h>

#include "bench.h"
#include "ring.h"

#define DRAIN_EVERY 64
#define WATCH_EVERY 4096

enum { THREADS, ITERS, WS, MIN, MAX, REMOTE, RING_SLOTS, TOUCH, MATCHED, LATENCY };
static struct bench_param param[] = {
    [THREADS] = {.name = "threads", .min = 1, .max = BENCH_MAX_THREADS, .required = true},
    [ITERS] = {.name = "iters", .min = 1, .required = true},
    [WS] = {.name = "ws", .min = 1, .required = true},
    [MIN] = {.name = "min", .required = true},
    [MAX] = {.name = "max", .required = true},
    [REMOTE] = {.name = "remote_pct", .max = 100, .required = true},
    [RING_SLOTS] = {.name = "ring_slots", .value = 65536, .min = 1},
    [TOUCH] = {.name = "--touch", .words = BENCH_TOUCH_WORDS},
    [MATCHED] = {.name = "--matched"},
    [LATENCY] = {.name = BENCH_LATENCY},
};

struct worker {
    _Alignas(BENCH_CACHE_LINE) uint64_t id;
    uint64_t random;
    _Atomic uint64_t mallocs, frees; /* counted by this worker, read by all */
    uint64_t remote_sent, overflow_sent;
    uint64_t live_peak; /* the most objects of all threads that this one saw */
};

static struct worker *workers;
static void **slots;       /* [worker][ws] */
static struct ring *rings; /* [receiver][sender] */
static _Atomic uint64_t finished;

static void count(_Atomic uint64_t *calls)
{
    atomic_store_explicit(calls, atomic_load_explicit(calls, memory_order_relaxed) + 1, memory_order_relaxed);
}

static void take_arrivals(struct worker *w)
{
    uint64_t threads = param[THREADS].value;
    for (uint64_t sender = 0; sender < threads; sender++) {
        void *p;
        for (; (p = ring_take(&rings[w->id * threads + sender])); count(&w->frees)) bench_free(p);
    }
}

/* Returns false if p has to be freed here. */
static bool send_away(struct worker *w, void *p)
{
    uint64_t threads = param[THREADS].value, random = bench_random(&w->random);
    if (threads == 1 || bench_scale((uint32_t)random, 100) >= param[REMOTE].value) return false;
    uint64_t receiver = bench_scale((uint32_t)(random >> 32), threads - 1);
    receiver += receiver >= w->id;
    struct ring *ring = &rings[receiver * threads + w->id];
    bool sent = ring_send(ring, p);
    while (!sent && param[MATCHED].value) {
        take_arrivals(w);
        sched_yield();
        sent = ring_send(ring, p);
    }
    w->remote_sent += sent;
    w->overflow_sent += !sent;
    return sent;
}

static void release(struct worker *w, void *p)
{
    if (send_away(w, p)) return;
    bench_free(p);
    count(&w->frees);
}

/* Other threads go on meanwhile.  Frees are read last, so that the difference never exceeds what was live. */
static void watch(struct worker *w)
{
    int64_t live = 0;
    for (uint64_t i = 0; i < param[THREADS].value; i++)
        live += (int64_t)atomic_load_explicit(&workers[i].mallocs, memory_order_acquire);
    for (uint64_t i = 0; i < param[THREADS].value; i++)
        live -= (int64_t)atomic_load_explicit(&workers[i].frees, memory_order_relaxed);
    if (live > (int64_t)w->live_peak) w->live_peak = (uint64_t)live;
}

static void work(uint64_t id)
{
    struct worker *w = &workers[id];
    uint64_t ws = param[WS].value, min = param[MIN].value, max = param[MAX].value;
    void **mine = slots + id * ws;
    for (uint64_t i = 0; i < param[ITERS].value; i++) {
        if (i % DRAIN_EVERY == 0) take_arrivals(w);
        if (i % WATCH_EVERY == 0) watch(w);
        uint64_t random = bench_random(&w->random);
        void **slot = &mine[bench_scale((uint32_t)random, ws)];
        if (*slot) {
            release(w, *slot);
            *slot = NULL;
        } else {
            *slot = bench_alloc(bench_random_size((uint32_t)(random >> 32), min, max), param[TOUCH].value);
            count(&w->mallocs);
        }
    }
    watch(w);
    for (uint64_t i = 0; i < ws; i++) {
        if (!mine[i]) continue;
        bench_release(mine[i], 1, param[TOUCH].value);
        count(&w->frees);
    }
    atomic_fetch_add(&finished, 1);
    /* Others may still send, or wait for room in this thread's rings. */
    while (atomic_load(&finished) < param[THREADS].value) {
        take_arrivals(w);
        sched_yield();
    }
    take_arrivals(w);
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    bench_check_sizes(param[MIN].value, param[MAX].value);
    uint64_t threads = param[THREADS].value, senders = threads > 1 ? threads - 1 : 1;
    workers = bench_map(threads * sizeof *workers);
    slots = bench_map(threads * param[WS].value * sizeof *slots);
    rings = ring_map(threads * threads, (param[RING_SLOTS].value + senders - 1) / senders);
    for (uint64_t i = 0; i < threads; i++) workers[i] = (struct worker){.id = i, .random = i};

    double seconds = bench_run_threads(threads, work);

    struct worker sum = {0};
    for (uint64_t i = 0; i < threads; i++) {
        sum.mallocs += workers[i].mallocs;
        sum.frees += workers[i].frees;
        sum.remote_sent += workers[i].remote_sent;
        sum.overflow_sent += workers[i].overflow_sent;
        if (workers[i].live_peak > sum.live_peak) sum.live_peak = workers[i].live_peak;
    }
    if (sum.mallocs != sum.frees) bench_die("bench: an object was lost");
    uint64_t tried = sum.remote_sent + sum.overflow_sent;
    bench_print_ops(sum.mallocs + sum.frees, seconds);
    printf(" frees=%llu effective_remote_pct=%.2f remote_sent=%llu overflow_sent=%llu overflow=%s",
           (unsigned long long)sum.frees, sum.frees ? 100.0 * (double)sum.remote_sent / (double)sum.frees : 0.0,
           (unsigned long long)sum.remote_sent, (unsigned long long)sum.overflow_sent,
           sum.overflow_sent * 1000 > tried ? "above_0.1%" : "ok");
    bench_print_live_peak(sum.live_peak, param[MIN].value, param[MAX].value);
    bench_finish();
    return 0;
}
