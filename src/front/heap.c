#include "front/heap.h"

#include "os/os.h"

size_t hz3_heap_usual_count(void)
{
    return hz3_max(4, 2 * hz3_os.cpus);
}

void hz3_heap_leave(struct hz3_heap *heap)
{
    /* 0 in a child that a signal handler forked while its thread was joining or leaving. */
    if (hz3_get(heap->threads)) hz3_sub(heap->threads, 1);
}
