#define _GNU_SOURCE
#include "os/asleep.h"

#include "base/number.h"
#include "base/print.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#ifndef SYS_clone3
#define SYS_clone3 435 /* for every processor that hz3 is built for */
#endif

enum {
    STACK_MAX = 64 << 10, /* bytes that are looked through */
    COPIED = 512,         /* words of it at a time */
    ARGUMENTS = 6,
};
extern HZ3_HIDDEN const char __ehdr_start[], etext[]; /* by the linker: where this library's code begins and ends */

/* /proc may be mounted for another namespace, in which threads have other numbers. */
static bool numbers_are_ours(void)
{
    char text[32];
    const char *end;
    size_t number;
    return hz3_os_read_file("/proc/thread-self/stat", text, sizeof text) > 0 && hz3_number(text, &end, &number) &&
           number == (size_t)hz3_os_thread();
}

/* A child of vfork has its parent's memory, thread-local storage included, and runs while the parent waits. */
static bool may_wait_for_a_child(size_t call)
{
#ifdef SYS_vfork
    if (call == SYS_vfork) return true;
#endif
    return call == SYS_clone || call == SYS_clone3;
}

static uintptr_t hex(const char *text)
{
    uintptr_t value = 0;
    for (int digit; (digit = *text >= 'a' ? *text - 'a' + 10 : *text - '0') >= 0 && digit < 16; text++)
        value = value * 16 + (uintptr_t)digit;
    return value;
}

/* The stack pointer with which the thread waits in a system call; 0: it does not, or the system does not say. */
static uintptr_t stack_of(int thread)
{
    char path[64], line[256];
    const char *at;
    size_t call;
    hz3_print(&(struct hz3_text){path, sizeof path, 0}, "/proc/self/task/%d/syscall", thread);
    if (hz3_os_read_file(path, line, sizeof line) <= 0) return 0;
    if (!hz3_number(line, &at, &call) || may_wait_for_a_child(call)) return 0; /* it says "running", or -1 */
    for (int i = 0; i < ARGUMENTS && at; i++) at = strstr(at + 1, " 0x");
    return at ? hex(at + strlen(" 0x")) : 0;
}

/* Addresses of code, left by a call or by a signal, are aligned, as the stack is.  The system copies it: if the thread
 * is on another stack there may be pages between that cannot be read. */
static bool may_have_our_code(uintptr_t from, uintptr_t to)
{
    uintptr_t words[COPIED];
    for (size_t bytes; from < to; from += bytes) {
        bytes = hz3_min(to - from, sizeof words);
        struct iovec here = {words, bytes}, there = {(void *)from, bytes};
        int saved = errno;
        bool done = process_vm_readv(hz3_os.pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
        errno = saved;
        if (!done) return true;
        for (size_t i = 0; i < bytes / sizeof *words; i++)
            if (words[i] - (uintptr_t)__ehdr_start < (size_t)(etext - __ehdr_start)) return true;
    }
    return false;
}

bool hz3_os_is_asleep(int thread, const void *stack_end)
{
    uintptr_t end = (uintptr_t)stack_end / sizeof(uintptr_t) * sizeof(uintptr_t), stack = stack_of(thread);
    if (stack % sizeof(uintptr_t) || end - stack > STACK_MAX || !numbers_are_ours()) return false;
    return !may_have_our_code(stack, end) && stack_of(thread) == stack;
}
