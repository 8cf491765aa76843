/* The misuse: another thread's object freed twice in a row, in a build that links free objects through their memory and
 * does not check.  The object leads to itself then, which statistics find. */
#include "misuse.h"

static void *free_twice(void *p)
{
    free(forget(malloc(16))); /* a thread that is new keeps what it frees first */
    free(p);
    free(p);
    return NULL;
}

int main(void)
{
    join_thread(start_thread(free_twice, accuse(malloc(64))));
    mallinfo2();
}
