/* The misuse: a heap destroyed twice. */
#include "heap.h"

int main(void)
{
    void *heap = heap_new();
    heap_destroy(heap);
    heap_destroy(accuse(heap));
}
