/* Proves that every kind of call works before any constructor has run, even the allocator's own, and that blocks
 * allocated then are as good as any other. */
#include <malloc.h>
#include <stdlib.h>

#include "churn.h"

enum { SMALL = 100, LARGE = MIB(3) };

static void *small, *large, *zeroes, *aligned, *resized, *at_constructor;

static void before_constructors(int argc, char **argv, char **environment)
{
    (void)argc, (void)argv, (void)environment;
    free(NULL);
    small = malloc(SMALL);
    large = malloc(LARGE);
    zeroes = calloc(10, SMALL);
    aligned = aligned_alloc(4096, SMALL);
    resized = realloc(malloc(10), SMALL);
    free(malloc(5000));
    CHECK(small && large && zeroes && aligned && resized);
    CHECK(malloc_usable_size(small) >= SMALL);
    CHECK(is_zero(zeroes, 10 * SMALL));
    fill(small, SMALL, 1);
    fill(large, LARGE, 2);
    fill(resized, SMALL, 3);
    churn(1, 200);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **,
                                                                              char **) = before_constructors;

__attribute__((constructor(101))) static void first_constructor(void)
{
    at_constructor = malloc(SMALL);
    CHECK(at_constructor != NULL);
    churn(2, 200);
}

int main(void)
{
    CHECK(small != NULL && is_filled(small, SMALL, 1));
    CHECK(is_filled(large, LARGE, 2));
    CHECK(is_filled(resized, SMALL, 3));
    CHECK(malloc_usable_size(large) >= LARGE);
    free(small);
    free(large);
    free(zeroes);
    free(aligned);
    free(realloc(resized, 10));
    free(at_constructor);
    churn(3, 200);
}
