/* A plugin with a malloc of its own, which it exports. */
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* A bump allocator.  It begins anew when all blocks have come back. */
static _Alignas(16) char arena[MIB(8)];
static size_t used, live;

__attribute__((visibility("default"))) bool plugin_owns(const void *p)
{
    return (const char *)p >= arena && (const char *)p < arena + sizeof(arena);
}

__attribute__((visibility("default"))) size_t plugin_live(void)
{
    return live;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    char *p = arena + used;
    size = (size + 16) & ~(size_t)15;
    CHECK(size < sizeof(arena) - used);
    used += size;
    live++;
    return p;
}

__attribute__((visibility("default"))) void free(void *p)
{
    if (p == NULL) return;
    CHECK(plugin_owns(p) && live > 0);
    if (--live == 0) used = 0;
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    return memset(malloc(count * size), 0, count * size);
}

__attribute__((visibility("default"))) void *realloc(void *p, size_t size)
{
    void *to = malloc(size);
    size_t behind = (size_t)(arena + sizeof(arena) - (char *)p);
    if (p != NULL) memmove(to, p, size < behind ? size : behind);
    free(p);
    return to;
}

__attribute__((visibility("default"))) void *plugin_make(size_t size)
{
    void *p = calloc(1, size / 2 + 1);
    CHECK(p != NULL && is_zero(p, size / 2 + 1));
    p = realloc(p, size);
    CHECK(p != NULL);
    fill(p, size, size);
    return p;
}
