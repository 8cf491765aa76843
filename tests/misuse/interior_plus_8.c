/* The misuse: free of a pointer 8 bytes into a small block. */
#include "misuse.h"

int main(void)
{
    char *p = malloc(1000);
    free(accuse(p + 8));
}
