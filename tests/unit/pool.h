/* Shared by tests of the page pool: replacements of three calls of libc that record their arguments or fail on request,
 * and the sum of the gauges. */
#ifndef HZ3_UNIT_POOL_H
#define HZ3_UNIT_POOL_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "back/gauges.h"

static size_t most_advised; /* bytes in one call, but for what cores have */
static bool moves_fail, no_mappings, no_purges;

int madvise(void *at, size_t bytes, int advice)
{
    if (no_purges) return -1;
    if (advice != MADV_DONTDUMP) most_advised = hz3_max(most_advised, bytes);
    return (int)syscall(SYS_madvise, at, bytes, advice);
}

void *mremap(void *from, size_t bytes, size_t new_bytes, int how, ...)
{
    va_list more;
    va_start(more, how);
    void *to = va_arg(more, void *);
    va_end(more);
    if (no_mappings) return (void *)-1;
    if (!moves_fail) return (void *)syscall(SYS_mremap, from, bytes, new_bytes, how, to);
    syscall(SYS_munmap, to, new_bytes);
    return (void *)-1;
}

void *mmap(void *at, size_t bytes, int protection, int how, int fd, off_t offset)
{
    if (!no_mappings) return (void *)syscall(SYS_mmap, at, bytes, protection, how, fd, offset);
    errno = ENOMEM;
    return (void *)-1;
}

/* The bytes of all spans, free or used. */
static inline size_t all_bytes(void)
{
    return hz3_gauge(HZ3_GAUGE_USED) + hz3_gauge(HZ3_GAUGE_DIRTY) + hz3_gauge(HZ3_GAUGE_CLEAN) +
           hz3_gauge(HZ3_GAUGE_UNMAPPED);
}
#endif
