/* The misuse: a freed block is written to, and handed out again later. */
#include "misuse.h"

int main(void)
{
    char *p = accuse(malloc(100));
    free(p);
    p[50] = 1;
    for (int i = 0; i < 100000; i++) free(forget(malloc(100)));
}
