/* The misuse: a large block's old address freed after realloc moved the block. */
#include "misuse.h"

int main(void)
{
    void *p = malloc(MIB(1)), *old = p;
    for (size_t size = MIB(2); p == old; size *= 2) {
        CHECK(malloc(KIB(100)) != NULL); /* so that the block cannot grow in place */
        p = realloc(p, size);
    }
    free(accuse(old));
}
