/* The price of a free in the destructor of thread-specific data, as a multiple of that in the thread itself. */
#include <stdlib.h>

#include "figure.h"
#include "support.h"

enum { BLOCKS = 300000 };

static pthread_key_t key;
static double outside;

static void **build(void)
{
    void **block = malloc(BLOCKS * sizeof(*block));
    CHECK(block != NULL);
    for (size_t i = 0; i < BLOCKS; i++) CHECK((block[i] = malloc(i % 500 + 1)));
    return block;
}

static double drop(void **block)
{
    double begun = now();
    for (size_t i = 0; i < BLOCKS; i++) free(block[i]);
    double took = now() - begun;
    free(block);
    return took;
}

static void at_end(void *block)
{
    outside = drop(block);
}

static void *build_and_leave(void *inside)
{
    *(double *)inside = drop(build());
    CHECK(pthread_setspecific(key, build()) == 0);
    return NULL;
}

int main(void)
{
    double inside, least_inside = 1e9, least_outside = 1e9;
    CHECK(pthread_key_create(&key, at_end) == 0);
    for (int i = 0; i < 5; i++) {
        join_thread(start_thread(build_and_leave, &inside));
        if (inside < least_inside) least_inside = inside;
        if (outside < least_outside) least_outside = outside;
    }
    figure(least_outside / least_inside);
}
