/* The misuse: free of a pointer into a large block that is free. */
#include "misuse.h"

int main(void)
{
    char *p = malloc(KIB(100));
    free(p);
    free(accuse(p + 16));
}
