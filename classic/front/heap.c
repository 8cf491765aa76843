/* In the place of src/front/heap.c: a thread has a shard of its own, as long as there are no more than 63. */
#include "front/heap.h"

#include HZ3_COUNTERS_H

size_t hz3_heap_usual_count(void)
{
    return HZ3_NUM_SHARDS;
}

struct hz3_heap *hz3_heap_join(void)
{
    struct hz3_heap *best;
    unsigned least;
    do {
        best = &hz3_heaps[0], least = hz3_get(best->threads);
        for (unsigned i = 1; least && i < hz3_heap_count; i++) {
            unsigned threads = hz3_get(hz3_heaps[i].threads);
            if (threads < least) best = &hz3_heaps[i], least = threads;
        }
    } while (!hz3_cas(best->threads, &least, least + 1, memory_order_relaxed, memory_order_relaxed));
    return best;
}

/* The thread that comes here leaves its counters, too: it is the one that ends, or it will count in others. */
void hz3_heap_leave(struct hz3_heap *heap)
{
    hz3_counters_leave();
    /* 0 in a child that a signal handler forked while its thread was joining or leaving. */
    if (hz3_get(heap->threads)) hz3_sub(heap->threads, 1);
}
