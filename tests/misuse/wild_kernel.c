/* The misuse: free of an address in the kernel's half. */
#include "misuse.h"

int main(void)
{
    free(accuse((void *)0xffff888000000010));
}
