/* The misuse: a write beyond the end of a block that the program keeps.  It goes on, and ends without a look
 * back. */
#include "misuse.h"

int main(void)
{
    char *p = accuse(malloc(100));
    p[100] = 0;
    for (int i = 0; i < 3000000; i++) free(forget(malloc(100)));
    _exit(0);
}
