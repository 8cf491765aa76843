/* Replaces functions for files, as libsocket_wrapper does, and syscall, as libuid_wrapper does.  Both allocate at their
 * first call, as they look up what they replaced.  These functions allocate at every call, and do nothing else. */
#include <stdlib.h>
#include <sys/types.h>

static int allocate(int result)
{
    void *volatile block = malloc(5000);
    free(block);
    return block ? result : -1;
}

int open(const char *path, int flags, ...)
{
    (void)path, (void)flags;
    return allocate(1000);
}

ssize_t read(int fd, void *to, size_t size)
{
    (void)fd, (void)to, (void)size;
    return allocate(1001);
}

int close(int fd)
{
    (void)fd;
    return allocate(1002);
}

long syscall(long number, ...)
{
    (void)number;
    return allocate(1003);
}
