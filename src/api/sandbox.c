/* prctl, passed through: a program that gives up privileges, as those do that then install a seccomp filter, gets no
 * background thread from us, whose clone its filter may punish.  Nothing else can tell in time: to
 * ask the kernel would itself be a system call the filter may forbid. */
#define _GNU_SOURCE
#include "api/override.h"
#include "front/collector.h"

#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int prctl_passed(int operation, ...)
{
    unsigned long arguments[4];
    va_list list;
    va_start(list, operation);
    for (int i = 0; i < 4; i++) arguments[i] = va_arg(list, unsigned long);
    va_end(list);
    if (operation == PR_SET_NO_NEW_PRIVS || operation == PR_SET_SECCOMP) hz3_collector_forbid_background();
    return (int)syscall(SYS_prctl, operation, arguments[0], arguments[1], arguments[2], arguments[3]);
}

HZ3_STANDARD_NAME(prctl, int, (int, ...), prctl_passed)
