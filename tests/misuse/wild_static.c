/* The misuse: a pointer to static data freed. */
#include "misuse.h"

int main(void)
{
    static char object[64] __attribute__((aligned(16)));
    free(accuse(object));
}
