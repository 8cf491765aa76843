/* The misuse: the 0 that ends a string lies behind a block that is never freed. */
#include <string.h>

#include "misuse.h"

int main(void)
{
    char *p = accuse(malloc(24));
    memset(p, 'x', 24);
    p[24] = 0;
}
