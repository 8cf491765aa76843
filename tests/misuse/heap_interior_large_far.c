/* The misuse: a pointer far into a large block of a heap freed. */
#include "heap.h"

int main(void)
{
    void *heap = heap_new(), *p = heap_malloc(heap, MIB(1));
    heap_free(heap, accuse((char *)p + KIB(200)));
}
