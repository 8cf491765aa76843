/* The misuse: the old place of a span freed after realloc moved it. */
#include "misuse.h"

int main(void)
{
    void *p = malloc(MIB(1)), *old = p;
    for (size_t size = MIB(2); p == old; size *= 2) {
        CHECK(malloc(KIB(100)) != NULL); /* stays in the way */
        p = realloc(p, size);
    }
    free(accuse(old));
}
