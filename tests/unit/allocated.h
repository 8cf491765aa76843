/* How much the program has allocated, by hz3's own statistics. */
#ifndef HZ3_UNIT_ALLOCATED_H
#define HZ3_UNIT_ALLOCATED_H

#include "watch/stats.h"

static inline size_t allocated(void) /* bytes */
{
    struct hz3_stats stats;
    hz3_stats_read(&stats);
    return stats.allocated;
}
#endif
