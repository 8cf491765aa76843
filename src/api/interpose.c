/* Calls by which hz3 learns what the program asks of the kernel; otherwise it would need a system call of its own.  All
 * are passed on unchanged. */
#define _GNU_SOURCE
#include "api/init.h"
#include "api/override.h"
#include "back/fork_reserve.h"
#include "back/learn.h"
#include "back/limits.h"
#include "front/threads.h"
#include "os/gate.h"
#include "os/os.h"
#include "os/price.h"
#include "os/sandbox.h"
#include "reclaim/background.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

const char hz3_interpose;

/* From <linux/seccomp.h>, which is not installed where libc is musl. */
enum { MODE_STRICT = 1, MODE_FILTER = 2, SET_MODE_STRICT = 0, SET_MODE_FILTER = 1 };
enum { FOR_ALL_THREADS = 1, NEW_LISTENER = 8 }; /* flags */

enum { LEARN_TRIES = 100 }; /* a ms each: another thread may be asking the system for memory */

static void learn(void)
{
    hz3_gate_enter_at_last();
    for (int i = 0; !hz3_learn() && i < LEARN_TRIES; i++) hz3_os_sleep(1);
    hz3_gate_leave();
    hz3_os_page_price(); /* asks for the exact time, which may be a system call even where there is a vDSO */
}

/* A filter may punish clone, openat and fstat.  So before it is there hz3 reads its files and closes its copy of
 * stderr; from then on the threads that it binds start no background thread, read no files, and do not ask which file
 * stderr is.  One for all threads comes while none is at such calls inside the gate.  Without a filter every call that
 * hz3 needs is allowed, whatever privileges the program gave up.  Returns the filter's number; 0: a child installs it.
 */
static uint32_t filter_comes(bool all_threads)
{
    hz3_ensure_started();
    if (hz3_sandbox_binds_child()) return 0;
    if (!hz3_sandboxed()) {
        learn();
        hz3_os_forget_stderr();
    }
    if (!all_threads) return hz3_sandbox_enter(false);
    hz3_gate_enter_at_last();
    hz3_threads_reap(); /* one that ended inside would be waited for */
    hz3_gate_leave();
    hz3_gate_close();
    hz3_gate_drain();
    uint32_t filter = hz3_sandbox_enter(true);
    hz3_gate_open();
    hz3_reclaim_forbid_background();
    return filter;
}

/* Without a filter the call fails: so a program asks whether the kernel knows filters. */
static bool installs_by_prctl(const long words[])
{
    return words[0] == PR_SET_SECCOMP && (words[1] == MODE_STRICT || (words[1] == MODE_FILTER && words[2]));
}

static bool installs_by_seccomp(const long words[])
{
    return words[0] == SET_MODE_STRICT || (words[0] == SET_MODE_FILTER && words[2]);
}

/* libc has no function for seccomp(2), so programs and libseccomp make the call by this one; some make prctl's, too. */
static long syscall_heard(long number, ...)
{
    long words[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) words[i] = va_arg(list, long);
    va_end(list);
    bool by_seccomp = unlikely(number == SYS_seccomp) && installs_by_seccomp(words);
    bool installs = by_seccomp || (unlikely(number == SYS_prctl) && installs_by_prctl(words));
    uint32_t which = installs ? filter_comes(by_seccomp && words[1] & FOR_ALL_THREADS) : 0;
    long result = hz3_os_syscall(number, words);
    /* What is above 0 is the listener, or the number of a thread that cannot be bound. */
    if (unlikely(which) && result && (result < 0 || !(words[1] & NEW_LISTENER))) hz3_sandbox_refused(which);
    return result;
}

static int prctl_heard(int operation, ...)
{
    unsigned long words[4];
    va_list list;
    va_start(list, operation);
    for (int i = 0; i < 4; i++) words[i] = va_arg(list, unsigned long);
    va_end(list);
    return (int)syscall_heard(SYS_prctl, (long)operation, words[0], words[1], words[2], words[3], 0L);
}

/* Locked memory stays resident, so from now on hz3 keeps little free memory.  Also if a child of vfork calls this: it
 * locks the memory that both have. */
static int mlockall_heard(int flags)
{
    hz3_gate_enter_at_last();
    hz3_fork_reserve_empty();
    hz3_gate_leave();
    int result = (int)syscall(SYS_mlockall, flags);
    if (result == 0) hz3_pages_locked();
    return result;
}

static int munlockall_heard(void)
{
    int result = (int)syscall(SYS_munlockall);
    if (result == 0) hz3_memory_unlocked();
    return result;
}

HZ3_STANDARD_NAME(prctl, int, (int, ...), prctl_heard)
HZ3_IF_OWN_SYSCALL(HZ3_STANDARD_NAME(syscall, long, (long, ...), syscall_heard))
HZ3_STANDARD_NAME(mlockall, int, (int), mlockall_heard)
HZ3_STANDARD_NAME(munlockall, int, (void), munlockall_heard)
