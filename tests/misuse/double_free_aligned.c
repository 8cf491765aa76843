/* The crime: an aligned block freed twice. */
#include "crime.h"

int main(void)
{
    void *p = aligned_alloc(4096, 100);
    free(p);
    free(accuse(p));
}
