/* The misuse: free_sized of a large block with another size than malloc was asked for. */
#include "misuse.h"

extern void free_sized(void *p, size_t size) __attribute__((weak));

int main(void)
{
    free_sized(accuse(malloc(300000)), 300001);
}
