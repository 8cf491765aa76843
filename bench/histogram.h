/* Counts values in buckets whose width grows with the value.  No bucket is wider than 1/32 of its values, so a
 * percentile is at most about 3 % too high.  The size is fixed, and a value costs one addition. */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_STEPS   32 /* buckets for each power of two */
#define HISTOGRAM_TOP     ((UINT64_C(1) << 40) - 1)
#define HISTOGRAM_BUCKETS ((40 - 5 + 1) * HISTOGRAM_STEPS)

struct histogram {
    uint64_t count, max;
    uint64_t bucket[HISTOGRAM_BUCKETS];
};

static inline void histogram_add(struct histogram *h, uint64_t value)
{
    if (value > h->max) h->max = value;
    if (value > HISTOGRAM_TOP) value = HISTOGRAM_TOP;
    unsigned shift = 63 - (unsigned)__builtin_clzll(value | HISTOGRAM_STEPS) - 5;
    h->bucket[shift * HISTOGRAM_STEPS + (value >> shift)]++;
    h->count++;
}

static inline void histogram_merge(struct histogram *into, const struct histogram *from)
{
    if (from->max > into->max) into->max = from->max;
    into->count += from->count;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) into->bucket[i] += from->bucket[i];
}

/* The largest value that can lie in a bucket. */
static inline uint64_t histogram_top_of(size_t bucket)
{
    size_t shift = bucket < HISTOGRAM_STEPS ? 0 : bucket / HISTOGRAM_STEPS - 1;
    return ((bucket - shift * HISTOGRAM_STEPS + 1) << shift) - 1;
}

/* A value that `share` of all do not exceed, or 0 if there are no values. */
static inline uint64_t histogram_percentile(const struct histogram *h, double share)
{
    double wanted = share * (double)h->count;
    uint64_t seen = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->bucket[i];
        if (seen > 0 && (double)seen >= wanted) return histogram_top_of(i) < h->max ? histogram_top_of(i) : h->max;
    }
    return h->max;
}

#endif
