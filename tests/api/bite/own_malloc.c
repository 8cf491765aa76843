/* Proves that a program with its own malloc, such as Firefox or Chromium, keeps it when hz3 is preloaded.  Functions it
 * does not define, such as reallocarray, call those that it does. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* A bump allocator.  Each block's size lies before it. */
static _Alignas(16) char arena[MIB(8)];
static size_t used;

static bool is_own(const void *p)
{
    return (const char *)p > arena && (const char *)p < arena + sizeof(arena);
}

void *malloc(size_t size)
{
    if (size > sizeof(arena) - used - 32) {
        errno = ENOMEM;
        return NULL;
    }
    char *p = arena + used + 16;
    memcpy(p - 16, &size, sizeof(size));
    used += (size + 31) & ~(size_t)15;
    return p;
}

void free(void *p)
{
    CHECK(p == NULL || is_own(p));
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size);
}

void *realloc(void *p, size_t size)
{
    void *to = malloc(size);
    size_t old = 0;
    CHECK(p == NULL || is_own(p));
    CHECK(size < sizeof(arena)); /* a multiplication that overflowed must not arrive here */
    if (p != NULL) memcpy(&old, (char *)p - 16, sizeof(old));
    return to != NULL ? memcpy(to, p != NULL ? p : to, old < size ? old : size) : NULL;
}

int main(void)
{
    void *p = reallocarray(NULL, 10, 7);
    CHECK(is_own(p));
    fill(p, 70, 1);
    p = reallocarray(p, 100, 10);
    CHECK(is_own(p) && is_filled(p, 70, 1));
    errno = 0;
    CHECK(reallocarray(p, (size_t)forget((void *)(SIZE_MAX / 2)), 3) == NULL && errno == ENOMEM);
    free(p);
    return 0;
}
