/* The misuse: a freed block is written to, and never handed out again. */
#include "misuse.h"

int main(void)
{
    char *p = accuse(malloc(100));
    free(p);
    p[50] = 1;
}
