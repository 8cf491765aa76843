/* The misuse: a block is written to beyond its end, up to the end of its slot, and freed. */
#include "misuse.h"

int main(void)
{
    char *p = forget(malloc(24));
    for (int i = 24; i < 32; i++) p[i] = 'x';
    free(accuse(p));
}
