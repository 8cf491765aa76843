/* The misuse: a double free by a thread that was cancelled and has not noticed it yet. */
#include "misuse.h"

int main(void)
{
    void *p = accuse(malloc(100));
    pthread_cancel(pthread_self());
    free(p);
    free(p);
}
