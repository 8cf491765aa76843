/* The misuse: a block freed by a thread that has ended, then by its owner. */
#include "misuse.h"

static void *free_it(void *p)
{
    free(p);
    return NULL;
}

int main(void)
{
    void *p = malloc(100);
    join_thread(start_thread(free_it, p));
    free(accuse(p));
}
