/* The misuse: a pointer into a block of a heap freed. */
#include "heap.h"

int main(void)
{
    void *heap = heap_new(), *p = heap_malloc(heap, 100);
    heap_free(heap, accuse((char *)p + 16));
}
