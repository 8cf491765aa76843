/* Three calls of the system that stand before libc's: what they were told, and whether they are to fail. */
#ifndef HZ3_UNIT_CALLS_H
#define HZ3_UNIT_CALLS_H

#include <stdarg.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/types.h"

static size_t calls_most_advised; /* bytes in one call */
static bool calls_moves_fail, calls_no_mappings;

int madvise(void *at, size_t bytes, int advice)
{
    calls_most_advised = hz3_max(calls_most_advised, bytes);
    return (int)syscall(SYS_madvise, at, bytes, advice);
}

void *mremap(void *from, size_t bytes, size_t new_bytes, int how, ...)
{
    va_list more;
    va_start(more, how);
    void *to = va_arg(more, void *);
    va_end(more);
    if (calls_no_mappings) return (void *)-1;
    if (!calls_moves_fail) return (void *)syscall(SYS_mremap, from, bytes, new_bytes, how, to);
    syscall(SYS_munmap, to, new_bytes);
    return (void *)-1;
}

void *mmap(void *at, size_t bytes, int protection, int how, int fd, off_t offset)
{
    return calls_no_mappings ? (void *)-1 : (void *)syscall(SYS_mmap, at, bytes, protection, how, fd, offset);
}
#endif
