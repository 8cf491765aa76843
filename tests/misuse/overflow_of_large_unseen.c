/* The misuse: a write beyond the end of a large block that is never freed. */
#include "misuse.h"

int main(void)
{
    char *p = accuse(malloc(300000));
    p[300000] = 0;
}
