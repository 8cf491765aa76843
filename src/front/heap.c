#include "front/heap.h"

#include "os/os.h"
#include HZ3_NEAR_H

enum {
    HEAPS_MIN = 4, /* where processors decide */
    HEAPS_PER_CPU = 2,
};
static bool by_cpus; /* hz3_heap_count is to follow the number of processors, which was not asked for yet */

void hz3_heap_start(size_t count)
{
    by_cpus = !count;
    if (by_cpus) count = HEAPS_MIN;
    hz3_set(hz3_heap_count, (unsigned)hz3_min(count, (size_t)HZ3_NUM_SHARDS));
}

unsigned hz3_heap_settle(void)
{
    if (by_cpus) hz3_heap_start(hz3_max(HEAPS_MIN, HEAPS_PER_CPU * hz3_os_cpus()));
    return hz3_get(hz3_heap_count);
}

static struct hz3_heap *emptiest(unsigned count)
{
    struct hz3_heap *best = &hz3_heaps[0];
    for (unsigned i = 0; i < count && hz3_get(best->threads); i++)
        if (hz3_get(hz3_heaps[i].threads) < hz3_get(best->threads)) best = &hz3_heaps[i];
    return best;
}

struct hz3_heap *hz3_heap_join(void)
{
    struct hz3_heap *best = emptiest(hz3_get(hz3_heap_count));
    if (by_cpus && hz3_get(best->threads)) best = emptiest(hz3_heap_settle());
    hz3_add(best->threads, 1);
    hz3_near_join(best);
    return best;
}

void hz3_heap_leave(struct hz3_heap *heap)
{
    /* 0 in a child that a signal handler forked while its thread was joining or leaving. */
    if (hz3_get(heap->threads)) hz3_sub(heap->threads, 1);
}
