/* The misuse: a block freed, its neighbour freed, and the block again, the last two of their run, which could then be
 * part of a larger free span. */
#include "misuse.h"

enum { BLOCKS = 40000, SIZE = 64, ONE = BLOCKS / 2 };

int main(void)
{
    static void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) CHECK((blocks[i] = malloc(SIZE)) != NULL);
    for (int i = 0; i < BLOCKS; i++)
        if (i != ONE && i != ONE + 1) free(blocks[i]);
    malloc_trim(0);
    void *again = accuse(blocks[ONE]);
    free(blocks[ONE]);
    free(blocks[ONE + 1]);
    free(again);
    malloc_trim(0); /* without the check it is seen when they go back into their run */
}
