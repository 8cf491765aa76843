/* The misuse: free of a small number. */
#include "misuse.h"

int main(void)
{
    free(accuse((void *)0x10));
}
