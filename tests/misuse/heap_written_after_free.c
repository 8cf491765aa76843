/* The misuse: a block of a heap written to after it was freed. */
#include "heap.h"

int main(void)
{
    void *heap = heap_new();
    heap_malloc(heap, 100);
    char *p = heap_malloc(heap, 100);
    heap_free(heap, p);
    *(char *)accuse(p) = 1;
    heap_malloc(heap, 100);
}
