/* The misuse: two threads free one block at the same time.  It is too large for the large cache. */
#include "misuse.h"

static void *p;
static int ready;

static void *free_it(void *unused)
{
    __atomic_add_fetch(&ready, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) < 2) {
    }
    free(p);
    return unused;
}

int main(void)
{
    p = accuse(malloc(MIB(512)));
    pthread_t other = start_thread(free_it, NULL);
    free_it(NULL);
    join_thread(other);
}
