/* The misuse: a small number freed. */
#include "misuse.h"

int main(void)
{
    free(accuse((void *)0x10));
}
