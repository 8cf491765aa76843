/* Where HZ3_TEST_SERVED is set, ends the program before main unless malloc is from that file ("libc": from libc).
 * Otherwise what is tried would be another allocator, for example if a preload failed.  Calls no malloc. */
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

enum { VOID_STATUS = 76 }; /* lab/conform.py has it, too */

static const char *file_of(void *function)
{
    Dl_info library;
    return dladdr(function, &library) ? library.dli_fname : "no library";
}

__attribute__((constructor)) static void prove_who_serves(void)
{
    const char *wanted = getenv("HZ3_TEST_SERVED");
    if (!wanted) return;
    const char *serving = file_of(dlsym(RTLD_DEFAULT, "malloc"));
    struct stat one, other;
    if (strcmp(wanted, "libc") == 0) wanted = file_of((void *)gnu_get_libc_version);
    if (stat(wanted, &one) == 0 && stat(serving, &other) == 0 && one.st_dev == other.st_dev &&
        one.st_ino == other.st_ino)
        return;
    dprintf(STDERR_FILENO, "void: malloc is from %s\n", serving);
    _exit(VOID_STATUS);
}
