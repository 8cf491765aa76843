/* The misuse: a thread writes to what it has freed, and ends. */
#include <pthread.h>

#include "misuse.h"

static void *thread(void *unused)
{
    (void)unused;
    char *p = accuse(malloc(100));
    free(p);
    p[50] = 1;
    return NULL;
}

int main(void)
{
    pthread_t started;
    CHECK(pthread_create(&started, NULL, thread, NULL) == 0);
    CHECK(pthread_join(started, NULL) == 0);
    _exit(0);
}
