/* Proves that a thread may begin with any call: free, realloc, malloc_usable_size and all others work as if it had
 * allocated before. */
#include <malloc.h>
#include <stdlib.h>

#include "churn.h"

struct first {
    void (*call)(struct first *);
    void *p;
    size_t size;
};

static void by_free(struct first *first)
{
    free(first->p);
}
static void by_free_of_nothing(struct first *first)
{
    free(NULL);
    free(first->p);
}

static void by_usable_size(struct first *first)
{
    CHECK(malloc_usable_size(first->p) >= first->size);
    free(first->p);
}

static void by_realloc_to(struct first *first, size_t size)
{
    char *p = realloc(first->p, size);
    CHECK(p != NULL && is_filled(p, (size < first->size ? size : first->size), first->size));
    free(p);
}

static void by_realloc_up(struct first *first)
{
    by_realloc_to(first, 3 * first->size);
}
static void by_realloc_down(struct first *first)
{
    by_realloc_to(first, first->size / 3 + 1);
}
static void by_realloc_to_nothing(struct first *first)
{
    void *p = realloc(first->p, 0);
    CHECK(p == NULL || ANY_MALLOC);
    free(p);
}

static void by_calloc(struct first *first)
{
    void *p = calloc(3, first->size);
    CHECK(p != NULL && is_zero(p, 3 * first->size));
    free(p);
    free(first->p);
}

static void by_aligned_alloc(struct first *first)
{
    void *p = aligned_alloc(512, first->size);
    CHECK(p != NULL && (uintptr_t)p % 512 == 0);
    free(p);
    free(first->p);
}

static void by_trim(struct first *first)
{
    malloc_trim(0);
    free(first->p);
}

static void (*const calls[])(struct first *) = {
    by_free,   by_free_of_nothing, by_usable_size, by_realloc_up, by_realloc_down, by_realloc_to_nothing,
    by_calloc, by_aligned_alloc,   by_trim,
};

static void *live(void *arg)
{
    struct first *first = (struct first *)arg;
    first->call(first);
    churn(first->size, 20);
    return NULL;
}

int main(void)
{
    static const size_t sizes[] = {1, 16, 100, 1024, 5000, 65536, 65537, MIB(5)};
    for (size_t c = 0; c < COUNT_OF(calls); c++)
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            struct first first = {calls[c], malloc(sizes[s]), sizes[s]};
            CHECK(first.p != NULL);
            fill(first.p, first.size, first.size);
            join_thread(start_thread(live, &first));
        }
}
