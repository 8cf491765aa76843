/* Observation: what the boxes count, one line each on stderr when the process ends.  Each thread counts in a structure
 * of its own, which the next thread goes on with when it ends.  So no path that is being measured writes a cache line
 * that other threads write.  A box that is off leaves no code. */
#pragma once

#include "base/print.h"
#include "base/types.h"
#include "os/lock.h"

/* Each counter and its box.  HZ3_S44_STATS, HZ3_S67_STATS and HZ3_S74_STATS count objects unless the name says
 * otherwise. */
#define HZ3_COUNTERS(row) \
    row(pushed, HZ3_S44_STATS) row(refused, HZ3_S44_STATS) row(popped, HZ3_S44_STATS) row(trimmed, HZ3_S44_STATS) \
        row(pop_calls, HZ3_S44_4_STATS) row(want, HZ3_S44_4_STATS) row(want_32, HZ3_S44_4_STATS) \
            row(drains, HZ3_S44_4_STATS) row(drained, HZ3_S44_4_STATS) row(spill_hits, HZ3_S44_4_STATS) \
                row(fastpop_tries, HZ3_S44_4_STATS) /* of what is put back */ row(fastpop_misses, HZ3_S44_4_STATS) \
                    row(spill_kept, HZ3_S67_STATS) row(spill_served, HZ3_S67_STATS) row(spill_put_back, HZ3_S67_STATS) \
                        row(refills, HZ3_S74_STATS) row(s44_calls, HZ3_S74_STATS) row(s44, HZ3_S74_STATS) \
                            row(s42_calls, HZ3_S74_STATS) row(s42, HZ3_S74_STATS) row(kept, HZ3_S74_STATS) \
                                row(central, HZ3_S74_STATS) row(run, HZ3_S74_STATS) \
                                    row(one_calls, HZ3_S96_OWNER_STASH_PUSH_STATS) \
                                        row(list_calls, HZ3_S96_OWNER_STASH_PUSH_STATS) \
                                            row(one_retries, HZ3_S96_OWNER_STASH_PUSH_STATS) \
                                                row(list_retries, HZ3_S96_OWNER_STASH_PUSH_STATS) \
                                                    row(one_objs, HZ3_S96_OWNER_STASH_PUSH_STATS) \
                                                        row(list_objs, HZ3_S96_OWNER_STASH_PUSH_STATS)
/* These are not added up. */
#define HZ3_COUNTER_MAXIMA(row) \
    row(drained_max, HZ3_S44_4_STATS) row(one_retry_max, HZ3_S96_OWNER_STASH_PUSH_STATS) \
        row(list_retry_max, HZ3_S96_OWNER_STASH_PUSH_STATS)

/* How long drained lists were: a count for each length up to 15, then 8 for each doubling. */
enum { HZ3_LENGTHS_EXACT = 16, HZ3_LENGTHS = HZ3_LENGTHS_EXACT + 8 * 16 };
struct hz3_counters {
#define ROW(name, box) uint64_t name;
    HZ3_COUNTERS(ROW)
    HZ3_COUNTER_MAXIMA(ROW)
#undef ROW
    uint32_t lengths[HZ3_S44_4_STATS * HZ3_LENGTHS];
};
HZ3_INLINE unsigned hz3_length_at(unsigned length)
{
    if (length < HZ3_LENGTHS_EXACT) return length;
    unsigned shift = 28 - (unsigned)__builtin_clz(length);
    return hz3_min(8 * shift + (length >> shift), HZ3_LENGTHS - 1u);
}

/* The longest that counts there. */
HZ3_INLINE unsigned hz3_length_upto(unsigned at)
{
    if (at < HZ3_LENGTHS_EXACT) return at;
    unsigned shift = at / 8 - 1;
    return ((at % 8 + 9) << shift) - 1;
}

enum {
#define ROW(name, box) HZ3_COUNTS_##name = (box),
    HZ3_COUNTERS(ROW) HZ3_COUNTER_MAXIMA(ROW)
#undef ROW
};

extern HZ3_HIDDEN _Thread_local struct hz3_counters *hz3_counters_mine; /* NULL before the first count */
struct hz3_counters *hz3_counters_claim(void);
HZ3_INLINE struct hz3_counters *hz3_counters(void)
{
    return likely(hz3_counters_mine != NULL) ? hz3_counters_mine : hz3_counters_claim();
}

/* n is evaluated only where the counter's box is built in. */
#define HZ3_COUNT(counter, n) \
    do { \
        if (HZ3_COUNTS_##counter) hz3_counters()->counter += (n); \
    } while (0)
#define HZ3_COUNT_MAX(counter, n) \
    do { \
        if (HZ3_COUNTS_##counter) hz3_counters()->counter = hz3_max(hz3_counters()->counter, (uint64_t)(n)); \
    } while (0)
/* A drain took so many objects. */
#define HZ3_COUNT_LENGTH(length) \
    do { \
        if (HZ3_S44_4_STATS) hz3_counters()->lengths[hz3_length_at(length)]++; \
    } while (0)

/* To be called by a thread that ends: another may go on with its counts. */
void hz3_counters_leave(void);
/* For fork.  The child counts anew, in what the parent's other threads leave. */
void hz3_counters_each_lock(void (*visit)(struct hz3_lock *lock));
void hz3_counters_after_fork(void);
