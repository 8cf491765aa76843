/* The misuse: a string's final 0 is written one byte beyond a block's end, and the block is freed. */
#include "misuse.h"

int main(void)
{
    char *p = forget(malloc(100));
    p[100] = 0;
    free(accuse(p));
}
