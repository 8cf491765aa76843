#define BENCH_QUESTION "Do threads that write only to objects of their own slow each other down?"
/* They do if objects of two threads lie in one cache line.  active (known from cache-thrash): a thread makes an
 * object, adds one to each of its bytes `writes` times, frees it, and repeats this.  passive (known from
 * cache-scratch): the same, but each thread first frees an object that the main thread made beside the others',
 * and so may get its neighbours' lines.  Every thread keeps its last object.  sharing_threads is the number of
 * those that have a line in common with another's. */
#include <sched.h>

#include "bench.h"

enum { KIND, THREADS, ITERS, SIZE, WRITES, LATENCY };
enum { KIND_ACTIVE, KIND_PASSIVE };
static struct bench_param param[] = {
    [KIND] = {.name = "kind", .words = "active|passive", .required = true},
    [THREADS] = {.name = "threads", .min = 1, .max = BENCH_MAX_THREADS, .required = true},
    [ITERS] = {.name = "iters", .min = 1, .required = true},
    [SIZE] = {.name = "size", .min = 1, .required = true},
    [WRITES] = {.name = "writes", .min = 1, .required = true},
    [LATENCY] = {.name = BENCH_LATENCY},
};

struct seat {
    _Alignas(BENCH_CACHE_LINE) unsigned char *object; /* first the main thread's, at the end the last one */
};

static struct seat *seats;
static _Atomic uint64_t finished;

static void scribble(volatile unsigned char *p)
{
    uint64_t size = param[SIZE].value, writes = param[WRITES].value;
    for (uint64_t i = 0; i < size; i++) p[i] = 0;
    for (uint64_t w = 0; w < writes; w++)
        for (uint64_t i = 0; i < size; i++) p[i]++;
    for (uint64_t i = 0; i < size; i++)
        if (p[i] != (unsigned char)writes) bench_die("bench: an object was lost: somebody wrote to %p", (void *)p);
}

static void work(uint64_t id)
{
    unsigned char *p = seats[id].object;
    for (uint64_t i = 0; i < param[ITERS].value; i++) {
        if (p) bench_free(p);
        p = bench_malloc(param[SIZE].value);
        scribble(p);
    }
    seats[id].object = p;
    /* If a thread ended now, one that starts late could get the lines beside its object. */
    atomic_fetch_add(&finished, 1);
    while (atomic_load(&finished) < param[THREADS].value) sched_yield();
}

static bool share_a_line(const unsigned char *a, const unsigned char *b)
{
    uintptr_t a_first = (uintptr_t)a / BENCH_CACHE_LINE, b_first = (uintptr_t)b / BENCH_CACHE_LINE;
    uintptr_t a_last = ((uintptr_t)a + param[SIZE].value - 1) / BENCH_CACHE_LINE;
    uintptr_t b_last = ((uintptr_t)b + param[SIZE].value - 1) / BENCH_CACHE_LINE;
    return a_first <= b_last && b_first <= a_last;
}

static uint64_t count_sharing(void)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < param[THREADS].value; i++) {
        bool shares = false;
        for (uint64_t k = 0; k < param[THREADS].value; k++)
            shares |= k != i && share_a_line(seats[i].object, seats[k].object);
        count += shares;
    }
    return count;
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    uint64_t threads = param[THREADS].value, iters = param[ITERS].value, given = 0;
    seats = bench_map(threads * sizeof *seats);
    if (param[KIND].value == KIND_PASSIVE)
        for (; given < threads; given++) seats[given].object = bench_malloc(param[SIZE].value);
    double seconds = bench_run_threads(threads, work);
    uint64_t sharing = count_sharing();
    for (uint64_t i = 0; i < threads; i++) bench_free(seats[i].object);
    bench_print_ops(threads * (2 * iters - 1) + given, seconds);
    printf(" writes_per_s=%.0f sharing_threads=%llu",
           (double)(threads * iters) * (double)(param[SIZE].value * param[WRITES].value) / seconds,
           (unsigned long long)sharing);
    bench_finish();
    return 0;
}
