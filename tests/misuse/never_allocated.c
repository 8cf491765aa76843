/* The misuse: a slot freed that no malloc has ever returned. */
#include "misuse.h"

int main(void)
{
    char *p = malloc(100);
    free(accuse(p + 300 * malloc_usable_size(p)));
}
