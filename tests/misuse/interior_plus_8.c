/* The misuse: a pointer 8 bytes into a small block freed. */
#include "misuse.h"

int main(void)
{
    char *p = malloc(1000);
    free(accuse(p + 8));
}
