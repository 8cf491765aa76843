/* In the place of src/front/heap.c: a thread has a shard of its own, as long as there are no more than 63. */
#include "front/heap.h"

#include HZ3_COUNTERS_H

size_t hz3_heap_usual_count(void)
{
    return HZ3_NUM_SHARDS;
}

/* The thread that comes here leaves its counters, too: it is the one that ends, or it will count in others. */
void hz3_heap_leave(struct hz3_heap *heap)
{
    hz3_counters_leave();
    /* 0 in a child that a signal handler forked while its thread was joining or leaving. */
    if (hz3_get(heap->threads)) hz3_sub(heap->threads, 1);
}
