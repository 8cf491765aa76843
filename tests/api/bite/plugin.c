/* Proves that a library that is loaded and unloaded many times shares the program's heap.  Blocks pass in both
 * directions, outlive the library, and are not leaked, also where RTLD_DEEPBIND gives the library libc's malloc.
 * The library is found by the program's RUNPATH. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "churn.h"

enum { LOADS = 300 };

static void *(*make)(size_t);
static void (*drop)(void *, size_t);

/* The plugin's thread-local data is allocated in the plugin's first call in each thread.
 */
static void *use(void *arg)
{
    static const size_t sizes[] = {1, 100, 5000, 70000, MIB(2)};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        drop(make(sizes[i]), sizes[i]);
        void *p = malloc(sizes[i]);
        CHECK(p != NULL);
        fill(p, sizes[i], sizes[i]);
        drop(p, sizes[i]);
    }
    return arg;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2 || (argc == 3 && strcmp(argv[2], "deepbind") == 0));
    int deepbind = argc == 3 ? RTLD_DEEPBIND : 0;
    size_t settled = 0;
    for (int i = 0; i < LOADS; i++) {
        if (i == LOADS / 3) settled = resident_bytes();
        void *plugin = dlopen(argv[1], deepbind | (i % 2 ? RTLD_LAZY | RTLD_GLOBAL : RTLD_NOW | RTLD_LOCAL));
        CHECK(plugin != NULL);
        *(void **)&make = dlsym(plugin, "plugin_make");
        *(void **)&drop = dlsym(plugin, "plugin_drop");
        CHECK(make != NULL && drop != NULL);
        use(NULL);
        join_thread(start_thread(use, NULL));
        void *survivor = make(777);
        CHECK(dlclose(plugin) == 0);
        CHECK(is_filled(survivor, 777, 777));
        free(survivor);
    }
    CHECK(resident_bytes() < settled + MIB(8));
}
