/* The misuse: a block of a heap freed, and then by free. */
#include "heap.h"

int main(void)
{
    void *heap = heap_new(), *p = heap_malloc(heap, 100);
    heap_malloc(heap, 100);
    heap_free(heap, p);
    free(accuse(p));
}
