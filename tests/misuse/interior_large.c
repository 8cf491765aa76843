/* The misuse: a pointer one page into a block with a span of its own freed. */
#include "misuse.h"

int main(void)
{
    char *p = malloc(MIB(1));
    free(accuse(p + 4096));
}
