/* Proves that with HZ3_FOREIGN_FREE=libc a block of libc's own malloc may be freed, resized and measured through the
 * standard names, as programs with two allocators do; also by a thread for which a library's constructor waits. */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

#include "support.h"

extern void *__libc_malloc(size_t size);

int main(int argc, char **argv)
{
    CHECK(argc == 2 && dlopen(argv[1], RTLD_NOW) != NULL);
    static const size_t sizes[] = {10, 1000, 70000, MIB(3)};
    for (int round = 0; round < 100; round++)
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            void *p = __libc_malloc(sizes[i]), *q = __libc_malloc(sizes[i]);
            CHECK(p != NULL && q != NULL);
            fill(q, sizes[i], i);
            CHECK(malloc_usable_size(p) >= sizes[i]);
            free(p);
            q = realloc(q, 2 * sizes[i]);
            CHECK(q != NULL && is_filled(q, sizes[i], i));
            free(q);
        }
}
