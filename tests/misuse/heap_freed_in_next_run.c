/* The misuse: a block freed after its heap was destroyed, where another heap now has a run of its size. */
#include "heap.h"

int main(void)
{
    void *heap = heap_new(), *p = NULL, *next = NULL;
    for (int i = 0; i < 40; i++) p = heap_malloc(heap, 1024);
    heap_destroy(heap);
    heap = heap_new();
    for (int i = 0; i < 1000 && (uintptr_t)next >> 16 != (uintptr_t)p >> 16; i++) next = heap_malloc(heap, 1024);
    free(accuse(p));
}
