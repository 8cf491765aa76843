/* The misuse: a block of malloc's in the place of a heap. */
#include "heap.h"

int main(void)
{
    heap_malloc(accuse(malloc(1000)), 1);
}
