/* The misuse: a slot freed that no malloc has ever returned. */
#include "misuse.h"

int main(void)
{
    char *p = malloc(100);
    size_t slot = (malloc_usable_size(p) + 15) / 16 * 16; /* of which a canary may take a part */
    free(accuse(p + 300 * slot));
}
