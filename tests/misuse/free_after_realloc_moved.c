/* The misuse: the old place of a block freed after realloc moved it. */
#include "misuse.h"

int main(void)
{
    void *p = malloc(24), *old = accuse(p);
    CHECK(realloc(p, 5000) != old);
    free(old);
}
