#define _GNU_SOURCE
#include "os/asleep.h"

#include "base/number.h"
#include "base/print.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_clone3
#define SYS_clone3 435 /* for every processor that hz3 is built for */
#endif

enum {
    COPIED = 512, /* words of the stack at a time */
    ARGUMENTS = 6,
};
static bool refused; /* the system does not say, and may note each time that it was asked */
extern HZ3_HIDDEN const char __ehdr_start[], _etext[]; /* by the linker: where this library's code begins and ends */

static bool is_our_code(uintptr_t address)
{
    return address - (uintptr_t)__ehdr_start < (size_t)(_etext - __ehdr_start);
}

/* /proc may be mounted for another namespace, in which threads have other numbers. */
static bool numbers_are_ours(void)
{
    char text[32];
    const char *end;
    size_t number;
    return hz3_os_read_file("/proc/thread-self/stat", text, sizeof text) > 0 && hz3_number(text, &end, &number) &&
           number == (size_t)hz3_os_thread();
}

/* A child of vfork or clone may have its parent's memory, thread-local storage included, and be at work while the
 * parent waits.  `call` is for one that clone made a child of the parent's parent. */
static bool may_have_a_child_in_its_place(int thread, size_t call)
{
    char path[64], text[32];
#ifdef SYS_vfork
    if (call == SYS_vfork) return true;
#endif
    if (call == SYS_clone || call == SYS_clone3) return true;
    hz3_print(&(struct hz3_text){path, sizeof path, 0}, "/proc/self/task/%d/children", thread);
    return hz3_os_read_file(path, text, sizeof text) != 0; /* empty */
}

static uintptr_t hex(const char *text)
{
    uintptr_t value = 0;
    for (int digit; (digit = *text >= 'a' ? *text - 'a' + 10 : *text - '0') >= 0 && digit < 16; text++)
        value = value * 16 + (uintptr_t)digit;
    return value;
}

/* The stack pointer with which the thread waits in a system call of the program's; 0: it does not, or the system does
 * not say. */
static uintptr_t stack_of(int thread)
{
    char path[64], line[256];
    const char *at, *stack = NULL;
    size_t call;
    hz3_print(&(struct hz3_text){path, sizeof path, 0}, "/proc/self/task/%d/syscall", thread);
    long length = hz3_os_read_file(path, line, sizeof line);
    refused = length == -EACCES || length == -EPERM;
    if (length <= 0 || !hz3_number(line, &at, &call)) return 0; /* it says "running", or -1 */
    for (int i = 0; i <= ARGUMENTS && (at = strstr(at, " 0x")); i++) stack = at += strlen(" 0x");
    const char *code = at ? strstr(at, " 0x") : NULL;
    if (!code || is_our_code(hex(code + strlen(" 0x"))) || may_have_a_child_in_its_place(thread, call)) return 0;
    return hex(stack);
}

/* Addresses of code, left by a call or by a signal, are aligned, as the stack is.  The system copies it: if the thread
 * is on another stack there may be pages between that cannot be read.  Not by process_vm_readv, for which a filter that
 * the process began with may kill. */
static bool may_have_our_code(uintptr_t from, uintptr_t to)
{
    static uintptr_t words[COPIED]; /* not on the stack, which may be a coroutine's */
    int memory = hz3_os_open("/proc/self/mem");
    bool found = memory < 0;
    refused = memory == -EACCES || memory == -EPERM;
    int saved = errno;
    for (size_t bytes; from < to && !found; from += bytes) {
        bytes = hz3_min(to - from, sizeof words);
        found = syscall(SYS_pread64, memory, words, bytes, from) != (long)bytes;
        for (size_t i = 0; i < bytes / sizeof *words && !found; i++) found = is_our_code(words[i]);
    }
    errno = saved;
    if (memory >= 0) hz3_os_close(memory);
    return found;
}

bool hz3_os_is_asleep(int thread, const void *stack_end)
{
    if (refused) return false;
    uintptr_t end = (uintptr_t)stack_end / sizeof(uintptr_t) * sizeof(uintptr_t), stack = stack_of(thread);
    if (stack % sizeof(uintptr_t) || end - stack > HZ3_STACK_LOOKED_THROUGH || !numbers_are_ours()) return false;
    return !may_have_our_code(stack, end) && stack_of(thread) == stack;
}
