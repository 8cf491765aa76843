/* The latencies of single calls.
 *
 * With the switch BENCH_LATENCY every call is timed and counted in histograms of the calling thread.  When it
 * ends, other threads take these over.  Without the switch a call costs one branch more. */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <pthread.h>
#include <stdbool.h>

#include "basics.h"
#include "histogram.h"

#define BENCH_LATENCY "--latency"

enum bench_call { BENCH_MALLOC, BENCH_FREE, BENCH_CALLS }; /* calls that allocate; calls that free */

struct bench_latencies {
    struct histogram of[BENCH_CALLS];
    atomic_bool taken;
    struct bench_latencies *next;
};

static bool bench_latency_on;
static pthread_key_t bench_latency_key;
static _Atomic(struct bench_latencies *) bench_latency_all;

static inline void bench_latency_release(void *mine)
{
    atomic_store(&((struct bench_latencies *)mine)->taken, false);
}

static inline void bench_latency_start(void)
{
    if (pthread_key_create(&bench_latency_key, bench_latency_release) != 0) bench_die("bench: no thread key");
    bench_latency_on = true;
}

static inline struct bench_latencies *bench_latency_take(void)
{
    struct bench_latencies *mine = atomic_load(&bench_latency_all);
    while (mine && atomic_exchange(&mine->taken, true)) mine = mine->next;
    if (!mine) {
        mine = bench_map(sizeof *mine);
        atomic_store(&mine->taken, true);
        mine->next = atomic_load(&bench_latency_all);
        while (!atomic_compare_exchange_weak(&bench_latency_all, &mine->next, mine)) {
        }
    }
    pthread_setspecific(bench_latency_key, mine);
    return mine;
}

static inline void bench_latency_add(enum bench_call call, uint64_t ns)
{
    struct bench_latencies *mine = pthread_getspecific(bench_latency_key);
    histogram_add(&(mine ? mine : bench_latency_take())->of[call], ns);
}

#define BENCH_TIMED(kind, call) \
    do { \
        uint64_t timed_from = bench_latency_on ? bench_now_ns() : 0; \
        call; \
        if (bench_latency_on) bench_latency_add(kind, bench_now_ns() - timed_from); \
    } while (0)

static inline void bench_print_percentiles(const char *what, const struct histogram *h)
{
    static const struct {
        const char *name;
        double share;
    } percentiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}, {"p9999", 0.9999}};
    for (size_t i = 0; i < BENCH_COUNT(percentiles); i++)
        printf(" %s_%s_ns=%llu", what, percentiles[i].name,
               (unsigned long long)histogram_percentile(h, percentiles[i].share));
    printf(" %s_max_ns=%llu", what, (unsigned long long)h->max);
}

/* clock_ns is what timing adds to every latency.  It is not subtracted. */
static inline void bench_print_latencies(void)
{
    static struct histogram sum[BENCH_CALLS], empty;
    for (struct bench_latencies *l = atomic_load(&bench_latency_all); l; l = l->next)
        for (int call = 0; call < BENCH_CALLS; call++) histogram_merge(&sum[call], &l->of[call]);
    for (int i = 0; i < 1000; i++) {
        uint64_t from = bench_now_ns();
        histogram_add(&empty, bench_now_ns() - from);
    }
    printf(" clock_ns=%llu malloc_calls=%llu free_calls=%llu", (unsigned long long)histogram_percentile(&empty, 0.5),
           (unsigned long long)sum[BENCH_MALLOC].count, (unsigned long long)sum[BENCH_FREE].count);
    bench_print_percentiles("malloc", &sum[BENCH_MALLOC]);
    bench_print_percentiles("free", &sum[BENCH_FREE]);
}

#endif
