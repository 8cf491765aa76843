/* The misuse: a block freed twice in a row. */
#include "misuse.h"

int main(void)
{
    void *p = malloc(100);
    free(p);
    free(accuse(p));
}
