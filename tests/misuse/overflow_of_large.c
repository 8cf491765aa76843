/* The misuse: the same of a large block whose size is whole pages. */
#include "misuse.h"

int main(void)
{
    char *p = forget(malloc(1 << 20));
    p[1 << 20] = 0;
    free(accuse(p));
}
