/* The misuse: an aligned block freed twice. */
#include "misuse.h"

int main(void)
{
    void *p = aligned_alloc(4096, 100);
    free(p);
    free(accuse(p));
}
