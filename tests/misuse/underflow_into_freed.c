/* The misuse: a write right before a block, where a freed one lies that nobody gets again. */
#include "neighbours.h"

int main(void)
{
    struct neighbours found = behind_another(100);
    free(accuse(found.before));
    found.p[-1] ^= 0x55;
}
