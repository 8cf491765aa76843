#define _GNU_SOURCE
#include "os/rseq.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool membarrier(int command)
{
    int saved = errno;
    bool done = syscall(SYS_membarrier, command, 0, 0) == 0;
    errno = saved;
    return done;
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
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
    return registered() && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ);
}

bool hz3_rseq_restart_all(void)
{
    return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ);
}
