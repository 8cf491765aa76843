/* The misuse: realloc of a freed block. */
#include "misuse.h"

int main(void)
{
    void *p = malloc(100);
    free(p);
    forget(realloc(accuse(p), 200));
}
