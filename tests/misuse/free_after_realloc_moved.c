/* The crime: the old place of a block freed after realloc moved it. */
#include "crime.h"

int main(void)
{
    void *p = malloc(24), *old = accuse(p);
    CHECK(realloc(p, 5000) != old);
    free(old);
}
