/* Preloaded after an allocator.  In every process it writes to a file which library serves malloc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* If a program that is not PIE takes malloc's address, dlsym finds the program's own stub, which calls the first
 * library that defines malloc. */
static void find_server(Dl_info *server)
{
    const ElfW(Sym) *symbol = NULL;
    struct link_map *library = NULL;
    if (!dladdr1(dlsym(RTLD_DEFAULT, "malloc"), server, (void **)&symbol, RTLD_DL_SYMENT)) return;
    if (!symbol || symbol->st_shndx != SHN_UNDEF || dlinfo(dlopen(NULL, RTLD_LAZY), RTLD_DI_LINKMAP, &library)) return;
    while ((library = library->l_next)) {
        void *handle = dlopen(library->l_name, RTLD_LAZY | RTLD_NOLOAD),
             *found = handle ? dlsym(handle, "malloc") : NULL;
        if (found && dladdr(found, server) && server->dli_fbase == (void *)library->l_addr) return;
    }
}

__attribute__((constructor)) static void testify(void)
{
    const char *path = getenv("LAB_WITNESS");
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file < 0) return;
    Dl_info server = {.dli_fname = "nobody"};
    find_server(&server);
    const char *(*config)(void) = NULL;
    *(void **)&config = dlsym(RTLD_DEFAULT, "hz3_config_string");
    dprintf(file, "%s\t%s\n", server.dli_fname, config ? config() : "");
    close(file);
}
