/* The misuse: a write right before a block; another live block lies there. */
#include "neighbours.h"

int main(void)
{
    char *p = accuse(behind_another(100).p);
    p[-1] ^= 0x55;
    free(p);
}
