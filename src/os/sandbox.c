#include "os/sandbox.h"

#include "os/os.h"

#include <sys/syscall.h>
#include <unistd.h>

HZ3_TOGETHER HZ3_ATOMIC(uint32_t) hz3_sandbox;
static HZ3_ATOMIC(uint32_t) filters; /* how many threads installed one, or are about to */
static _Thread_local bool joined_free;
static _Thread_local bool bound; /* this thread installed a filter */
/* A child that libc's fork did not make installed one, in this thread.  If it shares our memory, as one of vfork does,
 * the kernel writes 0 here when it ends or execs, before the parent goes on.  If it has a copy, it stays bound. */
static _Thread_local HZ3_ATOMIC(uint32_t) child_bound;

bool hz3_sandboxed(void)
{
    uint32_t threads = hz3_get(hz3_sandbox);
    return bound || hz3_get(child_bound) || threads == HZ3_SANDBOX_ALL || (threads == HZ3_SANDBOX_SOME && !joined_free);
}

/* After the first filter even getpid may be forbidden. */
bool hz3_sandbox_binds_child(void)
{
    if (!hz3_sandboxed() && getpid() != hz3_os.pid) {
        hz3_set(child_bound, 1);
        syscall(SYS_set_tid_address, &child_bound);
    }
    return hz3_get(child_bound);
}

uint32_t hz3_sandbox_enter(bool all_threads)
{
    bound = true;
    if (all_threads || hz3_get(hz3_sandbox) != HZ3_SANDBOX_ALL)
        hz3_set(hz3_sandbox, all_threads ? HZ3_SANDBOX_ALL : HZ3_SANDBOX_SOME);
    return hz3_add(filters, 1) + 1;
}

void hz3_sandbox_refused(uint32_t filter)
{
    uint32_t only = 1;
    if (filter == only && hz3_cas(filters, &only, 0, memory_order_relaxed, memory_order_relaxed))
        hz3_sandbox_set(false);
}

void hz3_sandbox_join(bool made_by_free)
{
    if (made_by_free || hz3_get(hz3_sandbox) == HZ3_SANDBOX_NONE) joined_free = true;
}

void hz3_sandbox_set(bool is_bound)
{
    hz3_set(filters, is_bound);
    bound = is_bound;
    hz3_set(child_bound, 0);
    hz3_set(hz3_sandbox, is_bound ? HZ3_SANDBOX_ALL : HZ3_SANDBOX_NONE);
}
