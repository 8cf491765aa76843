/* The misuse: a large block freed into another heap than its own. */
#include "heap.h"

int main(void)
{
    void *heap = heap_new(), *other = heap_new(), *p = heap_malloc(heap, MIB(1));
    heap_free(other, accuse(p));
}
