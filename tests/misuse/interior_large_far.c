/* The misuse: free of a pointer into the last part of a large block. */
#include "misuse.h"

int main(void)
{
    char *p = malloc(MIB(1));
    free(accuse(p + MIB(1) - 65536));
}
