/* The crime: a block with a span of its own freed twice. */
#include "crime.h"

int main(void)
{
    void *p = malloc(MIB(1));
    free(p);
    free(accuse(p));
}
