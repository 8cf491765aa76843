/* The misuse: a pointer into a large block of a heap freed. */
#include "heap.h"

int main(void)
{
    void *heap = heap_new(), *p = heap_malloc(heap, MIB(1));
    free(accuse((char *)p + 16));
}
