/* The misuse: a byte written behind a block of a heap. */
#include "heap.h"

int main(void)
{
    void *heap = heap_new();
    char *p = heap_malloc(heap, 100);
    p[100] = 1;
    heap_free(heap, accuse(p));
}
