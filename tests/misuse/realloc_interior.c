/* The misuse: realloc of a pointer into a block. */
#include "misuse.h"

int main(void)
{
    char *p = malloc(1000);
    forget(realloc(accuse(p + 16), 2000));
}
