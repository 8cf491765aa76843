/* The misuse: a block freed again after so many other frees that its magazine is no longer the thread's. */
#include "misuse.h"

int main(void)
{
    void *p[1000];
    for (size_t i = 0; i < COUNT_OF(p); i++) p[i] = malloc(100);
    for (size_t i = 0; i < COUNT_OF(p); i++) free(p[i]);
    free(accuse(p[10]));
}
