/* The misuse: the usable size of a freed block. */
#include "misuse.h"

int main(void)
{
    void *p = malloc(100);
    free(p);
    return (int)malloc_usable_size(accuse(p));
}
