/* Two calls by which hz3 learns what the program asks of the kernel; otherwise it would need a system call of its own.
 * Both are passed on unchanged. */
#define _GNU_SOURCE
#include "api/init.h"
#include "api/override.h"
#include "back/fork_reserve.h"
#include "back/learn.h"
#include "back/limits.h"
#include "os/gate.h"
#include "os/os.h"
#include "reclaim/background.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

const char hz3_interpose;

static void learn(void)
{
    if (!hz3_get(hz3_started)) return;
    hz3_gate_enter_at_last();
    hz3_learn();
    hz3_gate_leave();
}

/* Programs give up privileges before they install a seccomp filter, which may punish clone, openat and fstat.  From
 * then on hz3 starts no background thread, reads no files, and does not ask which file stderr is. */
static int prctl_heard(int operation, ...)
{
    unsigned long arguments[4];
    va_list list;
    va_start(list, operation);
    for (int i = 0; i < 4; i++) arguments[i] = va_arg(list, unsigned long);
    va_end(list);
    if (operation == PR_SET_NO_NEW_PRIVS || operation == PR_SET_SECCOMP) {
        learn();
        hz3_reclaim_forbid_background();
        hz3_os_forget_stderr();
    }
    return (int)syscall(SYS_prctl, operation, arguments[0], arguments[1], arguments[2], arguments[3]);
}

/* Locked memory stays resident, so from now on hz3 keeps little free memory. */
static int mlockall_heard(int flags)
{
    hz3_gate_enter_at_last();
    hz3_fork_reserve_empty();
    hz3_gate_leave();
    int result = (int)syscall(SYS_mlockall, flags);
    if (result == 0) hz3_pages_locked();
    return result;
}

HZ3_STANDARD_NAME(prctl, int, (int, ...), prctl_heard)
HZ3_STANDARD_NAME(mlockall, int, (int), mlockall_heard)
