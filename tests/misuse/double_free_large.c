/* The misuse: a block with a span of its own freed twice. */
#include "misuse.h"

int main(void)
{
    void *p = malloc(MIB(1));
    free(p);
    free(accuse(p));
}
