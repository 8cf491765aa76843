#include "system.h"

#include <errno.h>
#include <sys/mman.h>

uint64_t system_refuses, system_ms = 1;
unsigned system_refused;

static bool refuses(void)
{
    bool refused = system_refuses & 1;
    system_refuses >>= 1;
    system_refused += refused;
    if (refused) errno = ENOMEM;
    return refused;
}

static void *mapped(void *p)
{
    system_refused += p == MAP_FAILED && errno == ENOMEM;
    return p;
}

static int done(int status)
{
    system_refused += status != 0;
    return status;
}

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    return refuses() ? MAP_FAILED : mapped(__real_mmap(at, bytes, protection, flags, file, offset));
}

void *__real_mremap(void *from, size_t bytes, size_t to_bytes, int flags, void *to);
void *__wrap_mremap(void *from, size_t bytes, size_t to_bytes, int flags, void *to);
int __real_munmap(void *at, size_t bytes);
void *__wrap_mremap(void *from, size_t bytes, size_t to_bytes, int flags, void *to)
{
    if (!refuses()) return mapped(__real_mremap(from, bytes, to_bytes, flags, to));
    __real_munmap(to, to_bytes); /* Linux has done so, by the time it finds that it has no room */
    errno = ENOMEM;
    return MAP_FAILED;
}

int __wrap_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes)
{
    return refuses() ? -1 : done(__real_munmap(at, bytes));
}

int __real_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice)
{
    return refuses() ? -1 : done(__real_madvise(at, bytes, advice));
}

int __real_mprotect(void *at, size_t bytes, int protection);
int __wrap_mprotect(void *at, size_t bytes, int protection);
int __wrap_mprotect(void *at, size_t bytes, int protection)
{
    return refuses() ? -1 : done(__real_mprotect(at, bytes, protection));
}

uint64_t __wrap_hz3_os_now_ms(void);
uint64_t __wrap_hz3_os_now_ms(void)
{
    return system_ms;
}

void system_mark(void *p, size_t bytes, bool differs)
{
    __real_madvise(p, bytes, differs ? MADV_DONTDUMP : MADV_DODUMP);
}
