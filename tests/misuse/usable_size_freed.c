/* The crime: the usable size of a freed block. */
#include "crime.h"

int main(void)
{
    void *p = malloc(100);
    free(p);
    return (int)malloc_usable_size(accuse(p));
}
