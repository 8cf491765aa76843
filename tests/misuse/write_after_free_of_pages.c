/* The misuse: a freed block of several pages is written to, far behind its start. */
#include "misuse.h"

int main(void)
{
    char *p = accuse(malloc(50000));
    free(p);
    p[30000] = 1;
    for (int i = 0; i < 100; i++) free(forget(malloc(100)));
    _exit(0);
}
