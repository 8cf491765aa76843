/* The misuse: 8 zeroes are written right before a block; another live block lies there. */
#include <string.h>

#include "neighbours.h"

int main(void)
{
    char *p = accuse(behind_another(1000).p);
    memset(p - 8, 0, 8);
    free(p);
}
