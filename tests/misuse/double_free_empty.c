/* The misuse: a block of 0 bytes is freed twice. */
#include "misuse.h"

int main(void)
{
    void *p = malloc(0);
    free(accuse(p));
    free(forget(p));
}
