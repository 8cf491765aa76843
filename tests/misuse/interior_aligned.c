/* The misuse: free of a pointer into an aligned block. */
#include "misuse.h"

int main(void)
{
    char *p = aligned_alloc(4096, 100);
    free(accuse(p + 64));
}
