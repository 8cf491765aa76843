/* The misuse: a block is written to beyond its end, and its usable size is asked for. */
#include "misuse.h"

int main(void)
{
    char *p = forget(malloc(200));
    p[200] = 0;
    return (int)malloc_usable_size(accuse(p));
}
