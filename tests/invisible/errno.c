/* Counts calls that succeed, and calls of free, which leave another errno than they found. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "support.h"

enum { BLOCKS = 300, OWN = EXDEV };

static size_t changes;

static void look(void)
{
    changes += errno != OWN;
    errno = OWN;
}

static void *take(size_t size)
{
    void *p = malloc(size);
    look();
    CHECK(p != NULL);
    free(p);
    look();
    p = calloc(1, size);
    look();
    CHECK(p != NULL);
    p = realloc(p, 2 * size);
    look();
    CHECK(p != NULL);
    free(p);
    look();
    p = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    look();
    CHECK(p != NULL);
    return p;
}

int main(void)
{
    static void *block[BLOCKS];
    errno = OWN;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < BLOCKS; i++) block[i] = take((size_t)16 << i % 21);
        for (size_t i = 0; i < BLOCKS; i++) {
            free(block[i]);
            look();
        }
        sleep_for(0.6); /* what follows is later than what waited */
        errno = OWN;
    }
    figure((double)changes);
}
