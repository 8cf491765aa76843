#include "front/heap.h"

#include "os/os.h"

size_t hz3_heap_usual_count(void)
{
    return hz3_max(4, 2 * hz3_os.cpus);
}

struct hz3_heap *hz3_heap_join(void)
{
    struct hz3_heap *best = &hz3_heaps[0];
    for (unsigned i = 0; i < hz3_heap_count && hz3_get(best->threads); i++)
        if (hz3_get(hz3_heaps[i].threads) < hz3_get(best->threads)) best = &hz3_heaps[i];
    hz3_add(best->threads, 1);
    return best;
}

void hz3_heap_leave(struct hz3_heap *heap)
{
    /* 0 in a child that a signal handler forked while its thread was joining or leaving. */
    if (hz3_get(heap->threads)) hz3_sub(heap->threads, 1);
}
