/* The misuse: a block freed after its heap was destroyed. */
#include "heap.h"

int main(void)
{
    void *heap = heap_new(), *p = heap_malloc(heap, 100);
    heap_destroy(heap);
    free(accuse(p));
}
