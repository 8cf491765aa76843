#include "front/heap.h"

#include "os/os.h"

size_t hz3_heap_usual_count(void)
{
    return hz3_max(4, 2 * hz3_os.cpus);
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

void hz3_heap_leave(struct hz3_heap *heap)
{
    /* 0 in a child that a signal handler forked while its thread was joining or leaving. */
    if (hz3_get(heap->threads)) hz3_sub(heap->threads, 1);
}
