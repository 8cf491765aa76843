/* The misuse: free of the slot beside the first object, which waits in a cache for its first malloc. */
#include "misuse.h"

int main(void)
{
    char *p = malloc(100);
    size_t slot = (malloc_usable_size(p) + 15) / 16 * 16; /* a canary may take a part of it */
    bool last = (uintptr_t)p % KIB(64) > KIB(60);
    free(accuse(last ? p - slot : p + slot));
}
