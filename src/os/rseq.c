#define _GNU_SOURCE
#include "os/rseq.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* membarrier(2); not every C library's headers have them. */
enum { PRIVATE_EXPEDITED_RSEQ = 1 << 7, REGISTER_PRIVATE_EXPEDITED_RSEQ = 1 << 8 };

static bool membarrier(int command)
{
    int saved = errno;
    bool done = syscall(SYS_membarrier, command, 0, 0) == 0;
    errno = saved;
    return done;
}

#if HZ3_RSEQ
static bool registered(void)
{
    return &__rseq_size && __rseq_size && *(int *)((char *)__builtin_thread_pointer() + __rseq_offset + 4) >= 0;
}
#else
static bool registered(void)
{
    return false;
}
#endif

bool hz3_rseq_start(void)
{
    return registered() && membarrier(REGISTER_PRIVATE_EXPEDITED_RSEQ);
}

bool hz3_rseq_restart_all(void)
{
    return membarrier(PRIVATE_EXPEDITED_RSEQ);
}
