/* Preloaded after an allocator: says in a file, from inside every process, who serves malloc there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void testify(void)
{
    const char *path = getenv("LAB_WITNESS");
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file < 0) return;
    Dl_info server = {.dli_fname = "nobody"};
    dladdr(dlsym(RTLD_DEFAULT, "malloc"), &server);
    const char *(*config)(void) = NULL;
    *(void **)&config = dlsym(RTLD_DEFAULT, "hz3_config_string");
    dprintf(file, "%s\t%s\n", server.dli_fname, config ? config() : "");
    close(file);
}
