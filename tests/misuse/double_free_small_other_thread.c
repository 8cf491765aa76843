/* The misuse: a block so small that it goes home to its heap, freed twice by a thread of another. */
#include "misuse.h"

static void *allocate(void *unused)
{
    (void)unused;
    return malloc(32);
}

int main(void)
{
    free(malloc(32)); /* from here on this thread has a heap, and the next one another */
    void *p = join_thread(start_thread(allocate, NULL));
    free(p);
    free(accuse(p));
}
