/* The misuse: one byte written behind a block's end, the 0 that ends a string, and the block freed. */
#include "misuse.h"

int main(void)
{
    char *p = forget(malloc(100));
    p[100] = 0;
    free(accuse(p));
}
