/* The misuse: free_aligned_sized with an alignment that the block does not have. */
#include "misuse.h"

extern void free_aligned_sized(void *p, size_t alignment, size_t size) __attribute__((weak));

int main(void)
{
    char *p = malloc(100);
    free_aligned_sized(accuse(p), (size_t)1 << 40, 100);
}
