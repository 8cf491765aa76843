/* Proves that the window (HZ3_WINDOW) does not limit the heap.  Every call works on memory outside it as on memory
 * inside. */
#include <malloc.h>
#include <stdlib.h>

#include "support.h"

enum { SMALL = 700, LARGE = MIB(1) + 5, SMALL_BLOCKS = MIB(256) / SMALL, LARGE_BLOCKS = 150, HUGE = MIB(100) };

static void *small[SMALL_BLOCKS], *large[LARGE_BLOCKS];

/* Enough to tell blocks apart.  To fill half a GiB would take seconds. */
static void mark(void *p, size_t size, size_t i)
{
    CHECK(p != NULL && malloc_usable_size(p) >= size);
    fill(p, 24, i);
    fill((char *)p + size - 24, 24, i);
}

static void check(void *p, size_t size, size_t i)
{
    CHECK(malloc_usable_size(p) >= size);
    CHECK(is_filled(p, 24, i) && is_filled((char *)p + size - 24, 24, i));
}

static void *release_odd(void *arg)
{
    for (size_t i = 1; i < SMALL_BLOCKS; i += 2) {
        check(small[i], SMALL, i);
        free(small[i]);
    }
    for (size_t i = 1; i < LARGE_BLOCKS; i += 2) {
        check(large[i], LARGE, i);
        free(large[i]);
    }
    return arg;
}

static void take_all(void)
{
    for (size_t i = 0; i < SMALL_BLOCKS; i++) {
        small[i] = i % 3 ? malloc(SMALL) : aligned_alloc(64, SMALL);
        mark(small[i], SMALL, i);
        if (i % (SMALL_BLOCKS / LARGE_BLOCKS + 1) == 0) {
            size_t j = i / (SMALL_BLOCKS / LARGE_BLOCKS + 1);
            large[j] = malloc(LARGE);
            mark(large[j], LARGE, j);
        }
    }
    for (size_t j = 0; j < LARGE_BLOCKS; j++)
        if (large[j] == NULL) mark(large[j] = malloc(LARGE), LARGE, j);
}

static void resize_and_release_even(void)
{
    for (size_t i = 0; i < SMALL_BLOCKS; i += 2) {
        check(small[i], SMALL, i);
        if (i % 64 == 0) {
            small[i] = realloc(small[i], 5 * SMALL);
            CHECK(small[i] != NULL && is_filled(small[i], 24, i));
        }
        free(small[i]);
    }
    for (size_t i = 0; i < LARGE_BLOCKS; i += 2) {
        check(large[i], LARGE, i);
        large[i] = realloc(large[i], 2 * LARGE);
        CHECK(large[i] != NULL && is_filled(large[i], 24, i));
        free(large[i]);
    }
}

int main(void)
{
    take_all();
    char *huge = calloc(1, HUGE);
    CHECK(huge != NULL && huge[0] == 0 && huge[HUGE / 2] == 0 && huge[HUGE - 1] == 0);
    mark(huge, HUGE, 1);
    join_thread(start_thread(release_odd, NULL));
    resize_and_release_even();
    for (int i = 0; i < 100; i++) {
        char *again = calloc(1, LARGE);
        CHECK(again != NULL && is_zero(again, LARGE));
        free(again);
    }
    check(huge, HUGE, 1);
    free(huge);
    malloc_trim(0);
    CHECK(resident_bytes() < MIB(128));
}
