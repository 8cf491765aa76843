/* What the observation boxes count: each thread for itself, summed when it ends and when somebody asks, so that no
 * path that is being measured writes a line that others write.  A box that is off costs nothing. */
#ifndef HZ3_MIDDLE_COUNTERS_H
#define HZ3_MIDDLE_COUNTERS_H

#include "base/types.h"

enum {
    HZ3_BOXES_ON = HZ3_S44_STATS || HZ3_S44_4_STATS || HZ3_S67_STATS || HZ3_S74_STATS ||
                   HZ3_S96_OWNER_STASH_PUSH_STATS || HZ3_ATOMIC_STATS,
};

/* The maxima come last: they are not added up. */
struct hz3_counters {
    uint64_t pushed, refused, popped, stolen, trimmed;                              /* S44, in objects */
    uint64_t pop_calls, want, want_32, drains, drained, spill_hits;                 /* S44-4 */
    uint64_t fastpop_tries, fastpop_misses;                                         /* S44-4: of what is put back */
    uint64_t spill_kept, spill_served, spill_put_back;                              /* S67, in objects */
    uint64_t refills, s44_calls, s44, s42_calls, s42, kept, central, run;           /* S74: objects unless _calls */
    uint64_t rmw;                                                                   /* copied from hz3_rmw_count */
    uint64_t one_calls, list_calls, one_retries, list_retries, one_objs, list_objs; /* S96 */
    uint64_t drained_max, one_retry_max, list_retry_max;
};
enum { HZ3_COUNTER_MAXIMA = 3, HZ3_COUNTERS = sizeof(struct hz3_counters) / sizeof(uint64_t) };

extern HZ3_HIDDEN _Thread_local struct hz3_counters hz3_counters;

/* n is evaluated only where the box is built in. */
#define HZ3_COUNT(box, counter, n) \
    do { \
        if (box) hz3_counters.counter += (n); \
    } while (0)
#define HZ3_COUNT_MAX(box, counter, n) \
    do { \
        if (box) hz3_counters.counter = hz3_max(hz3_counters.counter, (uint64_t)(n)); \
    } while (0)

void hz3_counters_add(struct hz3_counters *sum, const struct hz3_counters *more);
#endif
