/* The misuse: free of a pointer to static data. */
#include "misuse.h"

int main(void)
{
    static char object[64] __attribute__((aligned(16)));
    free(accuse(object));
}
