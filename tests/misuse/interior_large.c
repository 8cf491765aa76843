/* The misuse: free of a pointer one page into a large block. */
#include "misuse.h"

int main(void)
{
    char *p = malloc(MIB(1));
    free(accuse(p + 4096));
}
