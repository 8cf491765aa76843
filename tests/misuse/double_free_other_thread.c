/* The crime: a block freed by a thread that has ended, then by its owner. */
#include <pthread.h>

#include "crime.h"

static void *free_it(void *p)
{
    free(p);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    void *p = malloc(100);
    CHECK(pthread_create(&thread, NULL, free_it, p) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    free(accuse(p));
}
