/* The misuse: a large block freed twice. */
#include "misuse.h"

int main(void)
{
    void *p = malloc(MIB(1));
    free(p);
    free(accuse(p));
}
