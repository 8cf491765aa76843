/* The misuse: a heap used after it was destroyed. */
#include "heap.h"

int main(void)
{
    void *heap = heap_new();
    heap_destroy(heap);
    heap_malloc(accuse(heap), 1);
}
