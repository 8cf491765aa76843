/* A clock like libfaketime's, but it stands still.  It looks other names up, and the loader allocates its message about
 * one that is missing. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    (void)clock;
    void *volatile name = dlsym(RTLD_NEXT, "hz3_no_such_name_xyz");
    void *volatile block = malloc(5000);
    int result = name || !block ? -1 : 0;
    free(block);
    *time = (struct timespec){0};
    return result;
}
