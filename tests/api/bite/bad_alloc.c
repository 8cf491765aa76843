/* Proves that operator new throws in a plugin, if the program is in C and only the plugin loads the C++ library.  It
 * must not end the process. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#include "support.h"

int main(int argc, char **argv)
{
    CHECK(argc == 2 && !dlsym(RTLD_DEFAULT, "_ZSt15get_new_handlerv"));
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(plugin != NULL);
    bool (*refused)(size_t) = (bool (*)(size_t))dlsym(plugin, "refused");
    int (*calls_of_handler)(size_t) = (int (*)(size_t))dlsym(plugin, "calls_of_handler");
    CHECK(refused != NULL && refused(PTRDIFF_MAX - MIB(1)));
    CHECK(calls_of_handler != NULL && calls_of_handler(PTRDIFF_MAX - MIB(1)) == 2);
}
