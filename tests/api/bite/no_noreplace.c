/* The mmap of a system that does not know MAP_FIXED_NOREPLACE and refuses it. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (!(flags & MAP_FIXED_NOREPLACE)) return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
    errno = EINVAL;
    return MAP_FAILED;
}
