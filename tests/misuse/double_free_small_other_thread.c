/* The misuse: a thread of another heap frees an object twice that is small enough to be sent home. */
#include "misuse.h"

static void *allocate(void *unused)
{
    (void)unused;
    return malloc(32);
}

int main(void)
{
    free(malloc(32)); /* this thread joins a heap, so the next one joins another */
    void *p = join_thread(start_thread(allocate, NULL));
    free(p);
    free(accuse(p));
}
