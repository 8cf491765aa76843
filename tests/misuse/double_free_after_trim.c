/* The misuse: a block freed again after its memory went back to the system. */
#include "misuse.h"

int main(void)
{
    void *p = malloc(100);
    free(p);
    malloc_trim(0);
    free(accuse(p));
}
