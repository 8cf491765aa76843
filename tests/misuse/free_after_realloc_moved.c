/* The misuse: a block's old address freed after realloc moved the block. */
#include "misuse.h"

int main(void)
{
    void *p = malloc(24), *behind = malloc(24), *old = accuse(p); /* so that the block cannot grow in place */
    CHECK(behind != NULL && realloc(p, 5000) != old);
    free(old);
}
