/* The misuse: a block freed again after a larger one, which is free too, was where it was. */
#include "misuse.h"

int main(void)
{
    char *larger = malloc(1000);
    free(larger);
    free(accuse(larger + 112));
}
