/* Two blocks of a size, one right behind the other. */
#include "misuse.h"

struct neighbours {
    char *before, *p;
};

enum { MANY = 256, FARTHEST = 8192 };

/* How many of the blocks have another one so many bytes before them. */
static int count(char **blocks, size_t distance, struct neighbours *last)
{
    int found = 0;
    for (int i = 0; i < MANY; i++)
        for (int j = 0; j < MANY; j++)
            if (blocks[i] + distance == blocks[j]) {
                *last = (struct neighbours){blocks[i], blocks[j]};
                found++;
            }
    return found;
}

static struct neighbours behind_another(size_t size)
{
    static char *blocks[MANY];
    struct neighbours last;
    for (int i = 0; i < MANY; i++) CHECK((blocks[i] = malloc(size)) != NULL);
    for (size_t distance = size; distance < FARTHEST; distance++)
        if (count(blocks, distance, &last) > MANY / 2) return last;
    CHECK(false);
}
