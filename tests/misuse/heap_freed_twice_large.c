/* The misuse: a large block of a heap freed twice. */
#include "heap.h"

int main(void)
{
    void *heap = heap_new(), *p = heap_malloc(heap, MIB(1));
    heap_free(heap, p);
    heap_free(heap, accuse(p));
}
