/* The misuse: free of a slot that no malloc has returned. */
#include "misuse.h"

int main(void)
{
    char *p = malloc(100);
    size_t slot = (malloc_usable_size(p) + 15) / 16 * 16; /* a canary may take a part of it */
    free(accuse(p + 300 * slot));
}
