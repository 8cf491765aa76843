/* The misuse: a block freed again after so many others that its magazine has moved on. */
#include "misuse.h"

int main(void)
{
    void *p[1000];
    for (size_t i = 0; i < COUNT_OF(p); i++) p[i] = malloc(100);
    for (size_t i = 0; i < COUNT_OF(p); i++) free(p[i]);
    free(accuse(p[10]));
}
