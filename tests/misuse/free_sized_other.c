/* The misuse: free_sized with another size than malloc was asked for. */
#include "misuse.h"

extern void free_sized(void *p, size_t size) __attribute__((weak));

int main(void)
{
    free_sized(accuse(malloc(100)), 99);
}
