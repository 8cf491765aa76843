/* The misuse: a pointer into the last part of a block with a span of its own freed. */
#include "misuse.h"

int main(void)
{
    char *p = malloc(MIB(1));
    free(accuse(p + MIB(1) - 65536));
}
