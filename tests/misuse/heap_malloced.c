/* The misuse: a block of malloc freed into a heap. */
#include "heap.h"

int main(void)
{
    void *heap = heap_new(), *p = malloc(100);
    heap_free(heap, accuse(p));
}
