#include "system.h"

#include <errno.h>
#include <sys/mman.h>

#include "support.h"

uint32_t system_refuses;
unsigned system_had_no_room;
uint64_t system_ms = UINT32_MAX - 300000; /* it wraps soon */

static bool refuses(void)
{
    bool refused = system_refuses & 1;
    system_refuses >>= 1;
    if (refused) errno = ENOMEM;
    return refused;
}

/* These are calls on hz3's own mappings.  They may only fail because a mapping cannot be split. */
static int done(int status)
{
    CHECK(status == 0 || errno == ENOMEM);
    return status;
}

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    void *p = refuses() ? MAP_FAILED : __real_mmap(at, bytes, protection, flags, file, offset);
    system_had_no_room += p == MAP_FAILED && errno == ENOMEM;
    return p;
}

int __real_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes)
{
    return done(refuses() ? -1 : __real_munmap(at, bytes));
}

void *__real_mremap(void *from, size_t bytes, size_t to_bytes, int flags, ...);
void *__wrap_mremap(void *from, size_t bytes, size_t to_bytes, int flags, void *to);
void *__wrap_mremap(void *from, size_t bytes, size_t to_bytes, int flags, void *to)
{
    if (!refuses()) return __real_mremap(from, bytes, to_bytes, flags, to);
    if (refuses()) __real_munmap(to, to_bytes); /* Linux, too, may do so before it fails */
    errno = ENOMEM;
    return MAP_FAILED;
}

int __real_mprotect(void *at, size_t bytes, int protection);
int __wrap_mprotect(void *at, size_t bytes, int protection);
int __wrap_mprotect(void *at, size_t bytes, int protection)
{
    if (!refuses()) return done(__real_mprotect(at, bytes, protection));
    system_had_no_room++;
    return -1;
}

int __real_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice)
{
    return refuses() ? -1 : __real_madvise(at, bytes, advice);
}

uint64_t __wrap_hz3_os_now_ms(void);
uint64_t __wrap_hz3_os_now_ms(void)
{
    return system_ms;
}

/* There is no background thread, as an input could not say when it runs. */
void __wrap_hz3_reclaim_allow_background(bool allow);
void __wrap_hz3_reclaim_allow_background(bool allow)
{
    (void)allow;
}

void system_mark(void *p, size_t bytes, bool differs)
{
    __real_madvise(p, bytes, differs ? MADV_DONTDUMP : MADV_DODUMP);
}
