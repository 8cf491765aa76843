/* The misuse: a large block whose size is whole pages is written to beyond its end, and freed. */
#include "misuse.h"

int main(void)
{
    char *p = forget(malloc(1 << 20));
    p[1 << 20] = 0;
    free(accuse(p));
}
