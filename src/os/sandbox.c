#include "os/sandbox.h"

#include "os/os.h"

#include <unistd.h>

HZ3_TOGETHER HZ3_ATOMIC(uint32_t) hz3_sandbox;
static _Thread_local bool joined_free;
static _Thread_local int
    bound_as; /* the process in which this thread, or its child of vfork, installed a filter; or 0 */

bool hz3_sandboxed(void)
{
    if (unlikely(bound_as && bound_as != hz3_os.pid) && getpid() != bound_as) bound_as = 0; /* it was the child */
    uint32_t bound = hz3_get(hz3_sandbox);
    return bound_as || bound == HZ3_SANDBOX_ALL || (bound == HZ3_SANDBOX_SOME && !joined_free);
}

bool hz3_sandbox_enter(bool all_threads)
{
    if (!hz3_sandboxed())
        bound_as = getpid();
    else if (!bound_as)
        bound_as = hz3_os.pid;
    if (bound_as != hz3_os.pid) return false;
    if (all_threads || hz3_get(hz3_sandbox) != HZ3_SANDBOX_ALL)
        hz3_set(hz3_sandbox, all_threads ? HZ3_SANDBOX_ALL : HZ3_SANDBOX_SOME);
    return true;
}

void hz3_sandbox_join(void)
{
    if (hz3_get(hz3_sandbox) == HZ3_SANDBOX_NONE) joined_free = true;
}

void hz3_sandbox_after_fork(bool bound)
{
    bound_as = bound ? hz3_os.pid : 0;
    hz3_set(hz3_sandbox, bound ? HZ3_SANDBOX_ALL : HZ3_SANDBOX_NONE);
}
