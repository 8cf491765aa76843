/* Misuses of hz3_heap_: the functions, found where the library is preloaded, and two heaps. */
#include <dlfcn.h>

#include "misuse.h"

#define HEAP_FUNCTION(name, result, ...) \
    __attribute__((unused)) static result (*name)(__VA_ARGS__); \
    __attribute__((constructor)) static void find_##name(void) \
    { \
        *(void **)&name = dlsym(RTLD_DEFAULT, "hz3_" #name); \
        CHECK(name != NULL); \
    }
HEAP_FUNCTION(heap_new, void *, void)
HEAP_FUNCTION(heap_destroy, void, void *)
HEAP_FUNCTION(heap_malloc, void *, void *, size_t)
HEAP_FUNCTION(heap_realloc, void *, void *, void *, size_t)
HEAP_FUNCTION(heap_free, void, void *, void *)
