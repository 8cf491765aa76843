/* The misuse: free of a pointer 1 byte into a small block. */
#include "misuse.h"

int main(void)
{
    char *p = malloc(1000);
    free(accuse(p + 1));
}
