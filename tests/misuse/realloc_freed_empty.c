/* The misuse: realloc of a block of 0 bytes that is free. */
#include "misuse.h"

int main(void)
{
    void *p = malloc(0);
    free(p);
    free(realloc(accuse(p), 10));
}
