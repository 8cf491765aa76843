/* A typical plugin.  It allocates when it is loaded, used and unloaded, and has thread-local data for which the loader
 * has to allocate. */
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { SIZE = 3000 };

static void *kept;
static __thread char scratch[KIB(8)];

__attribute__((constructor)) static void loaded(void)
{
    kept = malloc(SIZE);
    CHECK(kept != NULL);
    fill(kept, SIZE, 1);
}

__attribute__((destructor)) static void unloaded(void)
{
    CHECK(is_filled(kept, SIZE, 1));
    free(kept);
}

__attribute__((visibility("default"))) void *plugin_make(size_t size)
{
    memset(scratch, 1, sizeof(scratch));
    void *p = malloc(size);
    CHECK(p != NULL);
    fill(p, size, size);
    return p;
}
