/* The misuse: a block written to behind its end, and asked for its size. */
#include "misuse.h"

int main(void)
{
    char *p = forget(malloc(200));
    p[200] = 0;
    return (int)malloc_usable_size(accuse(p));
}
