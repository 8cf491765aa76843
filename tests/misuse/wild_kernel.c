/* The misuse: an address in the kernel's half freed. */
#include "misuse.h"

int main(void)
{
    free(accuse((void *)0xffff888000000010));
}
