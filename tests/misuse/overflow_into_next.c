/* The misuse: the block's end written over as far as its slot goes, and the block freed. */
#include "misuse.h"

int main(void)
{
    char *p = forget(malloc(24));
    for (int i = 24; i < 32; i++) p[i] = 'x';
    free(accuse(p));
}
