/* Loaded by foreign.c: its constructor waits, under the loader's lock, for a thread that hands in libc's blocks. */
#include <malloc.h>
#include <stdlib.h>

#include "support.h"

extern void *__libc_malloc(size_t size);

static void *hand_in(void *unused)
{
    void *p = __libc_malloc(100);
    CHECK(p != NULL && malloc_usable_size(p) >= 100);
    free(realloc(p, 200));
    return unused;
}

__attribute__((constructor)) static void wait_for_it(void)
{
    join_thread(start_thread(hand_in, NULL));
}
