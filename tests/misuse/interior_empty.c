/* The misuse: free of a pointer into a block of 0 bytes. */
#include "misuse.h"

int main(void)
{
    free(accuse((char *)malloc(0) + 1));
}
