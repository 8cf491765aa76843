/* Observation: what the boxes count.  Each thread counts for itself, and the counts are added up when it ends and when
 * they are asked for.  So no path that is being measured writes a cache line that other threads write.  A box that is
 * off leaves no code. */
#ifndef HZ3_VARIANTS_COUNTERS_H
#define HZ3_VARIANTS_COUNTERS_H

#include "base/print.h"
#include "base/types.h"

enum { HZ3_BOXES_ON = 1 }; /* one at least */

/* Each counter and its box.  HZ3_S44_STATS, HZ3_S67_STATS and HZ3_S74_STATS count objects unless the name says
 * otherwise. */
#define HZ3_COUNTERS(row) \
    row(pushed, HZ3_S44_STATS) row(refused, HZ3_S44_STATS) row(popped, HZ3_S44_STATS) row(stolen, HZ3_S44_STATS) \
        row(trimmed, HZ3_S44_STATS) row(pop_calls, HZ3_S44_4_STATS) row(want, HZ3_S44_4_STATS) \
            row(want_32, HZ3_S44_4_STATS) row(drains, HZ3_S44_4_STATS) row(drained, HZ3_S44_4_STATS) \
                row(spill_hits, HZ3_S44_4_STATS) \
                    row(fastpop_tries, HZ3_S44_4_STATS) /* of what is put back */ row(fastpop_misses, HZ3_S44_4_STATS) \
                        row(spill_kept, HZ3_S67_STATS) row(spill_served, HZ3_S67_STATS) \
                            row(spill_put_back, HZ3_S67_STATS) row(refills, HZ3_S74_STATS) \
                                row(s44_calls, HZ3_S74_STATS) row(s44, HZ3_S74_STATS) row(s42_calls, HZ3_S74_STATS) \
                                    row(s42, HZ3_S74_STATS) row(kept, HZ3_S74_STATS) row(central, HZ3_S74_STATS) \
                                        row(run, HZ3_S74_STATS) \
                                            row(rmw, HZ3_ATOMIC_STATS) /* copied from hz3_rmw_count */ \
        row(one_calls, HZ3_S96_OWNER_STASH_PUSH_STATS) row(list_calls, HZ3_S96_OWNER_STASH_PUSH_STATS) \
            row(one_retries, HZ3_S96_OWNER_STASH_PUSH_STATS) row(list_retries, HZ3_S96_OWNER_STASH_PUSH_STATS) \
                row(one_objs, HZ3_S96_OWNER_STASH_PUSH_STATS) row(list_objs, HZ3_S96_OWNER_STASH_PUSH_STATS)
/* These are not added up. */
#define HZ3_COUNTER_MAXIMA(row) \
    row(drained_max, HZ3_S44_4_STATS) row(one_retry_max, HZ3_S96_OWNER_STASH_PUSH_STATS) \
        row(list_retry_max, HZ3_S96_OWNER_STASH_PUSH_STATS)

struct hz3_counters {
#define ROW(name, box) uint64_t name;
    HZ3_COUNTERS(ROW) HZ3_COUNTER_MAXIMA(ROW)
#undef ROW
};
enum {
#define ROW(name, box) HZ3_COUNTS_##name = (box),
    HZ3_COUNTERS(ROW) HZ3_COUNTER_MAXIMA(ROW)
#undef ROW
};

extern HZ3_HIDDEN _Thread_local struct hz3_counters hz3_counters;

/* n is evaluated only where the counter's box is built in. */
#define HZ3_COUNT(counter, n) \
    do { \
        if (HZ3_COUNTS_##counter) hz3_counters.counter += (n); \
    } while (0)
#define HZ3_COUNT_MAX(counter, n) \
    do { \
        if (HZ3_COUNTS_##counter) hz3_counters.counter = hz3_max(hz3_counters.counter, (uint64_t)(n)); \
    } while (0)
/* A call, where any box is built in. */
#define HZ3_OBSERVE(call) (call)

/* Lets other threads find a thread's counts. */
struct hz3_counting {
    struct hz3_counters *counters;
    uint64_t *rmw;
};
void hz3_counting_start(struct hz3_counting *mine);
/* Callers of these hold the lock of the list of threads.  The sum of ended threads; adds a running one to it. */
void hz3_counters_of_dead(struct hz3_counters *sum);
void hz3_counters_add(struct hz3_counters *sum, const struct hz3_counting *thread);
/* Adds a thread's counts to those of ended threads, and clears them. */
void hz3_counters_bury(const struct hz3_counting *thread);

/* One line for each box that is built in, as the work orders write them. */
void hz3_counters_text(struct hz3_text *text, const struct hz3_counters *counters);
#endif
