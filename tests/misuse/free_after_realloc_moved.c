/* The misuse: a block's old address freed after realloc moved the block. */
#include "misuse.h"

int main(void)
{
    void *p = malloc(24), *old = accuse(p);
    CHECK(realloc(p, 5000) != old);
    free(old);
}
