/* Takes files as libsocket_wrapper does, and system calls as libuid_wrapper does: both look for the names they have
 * taken at the first call, and allocate with that.  Here they lead nowhere. */
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
