/* The misuse: an object written to after it was freed, in a build that links free objects through their memory. */
#include "misuse.h"

enum { COUNT = 64, SIZE = 64 };
static void *objects[COUNT];

static void *free_all(void *unused)
{
    for (int i = 0; i < COUNT; i++) free(objects[i]);
    return unused;
}

int main(void)
{
    for (int i = 0; i < COUNT; i++) objects[i] = malloc(SIZE);
    join_thread(start_thread(free_all, NULL));
    *(size_t *)accuse(objects[COUNT / 2]) = 0x4141414141414141;
    for (int i = 0; i < 1000 * COUNT; i++) forget(malloc(SIZE));
}
