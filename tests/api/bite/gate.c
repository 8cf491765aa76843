#include "gate.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <semaphore.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support.h"

const int memory_calls[] = {SYS_mmap, SYS_munmap, SYS_madvise, SYS_mprotect, SYS_mremap};
const size_t memory_calls_count = COUNT_OF(memory_calls);

enum { MOST_CALLS = 32, SAY_BEGUN = 20001, ASK_TO_OPEN }; /* no system calls have the last two numbers */
enum { BY_NUMBER = 1 << 30 };                             /* no flag of seccomp's */

/* Returns the listener's descriptor if `flags` ask for one.  Without flags it uses prctl, as most programs do, and with
 * BY_NUMBER libc's `syscall` and the number of prctl. */
static int install(const int *calls, size_t count, unsigned on_these, unsigned on_others, unsigned flags)
{
    struct sock_filter program[2 * MOST_CALLS + 2], *next = program;
    CHECK(count <= MOST_CALLS);
    *next++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count; i++) {
        *next++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        *next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, on_these);
    }
    *next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, on_others);
    struct sock_fprog filter = {(unsigned short)(next - program), program};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    int result = flags == 0           ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0)
                 : flags == BY_NUMBER ? (int)syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0)
                                      : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
    CHECK(result >= 0);
    return result;
}

void gate_refuse(const int *calls, size_t count, int error)
{
    install(calls, count, SECCOMP_RET_ERRNO | (unsigned)error, SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_TSYNC);
}

void gate_allow_only(const int *calls, size_t count, bool all_threads)
{
    install(calls, count, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS, all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0);
}

void gate_forbid(const int *calls, size_t count, bool all_threads)
{
    install(calls, count, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW, all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0);
}

void gate_forbid_and_listen(const int *calls, size_t count)
{
    install(calls, count, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_NEW_LISTENER);
}

void gate_forbid_by_number(const int *calls, size_t count)
{
    install(calls, count, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW, BY_NUMBER);
}

void gate_kill_threads(int call)
{
    install(&call, 1, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_ALLOW, 0);
}

/* The keeper is a thread that decides on each call while the caller waits in the kernel.  A trap would need a
 * signal, which threads may block.  The keeper starts before the filter, so its own calls are not filtered. */
struct keeper {
    struct gate *gate;
    const int *calls;
    int listener;
    sem_t may_begin;
};

static size_t index_of(const struct keeper *keeper, int call)
{
    size_t i = 0;
    while (keeper->calls[i] != call) i++;
    return i;
}

/* Whether the call is to fail. */
static bool decide(struct keeper *keeper, pid_t caller, int call)
{
    struct gate *gate = keeper->gate;
    if (call == SAY_BEGUN) gate->begun = true;
    if (call == ASK_TO_OPEN) gate->last = 0;
    if (call == SAY_BEGUN || call == ASK_TO_OPEN) return true;
    if (gate->passes_caller && caller == getpid()) return false;
    long last = gate->last; /* read once: the caller may open the gate meanwhile */
    if (last == 0) return false;
    long number = ++gate->calls;
    if (number < gate->first || number > last) return false;
    gate->refused |= 1U << index_of(keeper, call);
    return true;
}

static void *keep_gate(void *arg)
{
    struct keeper *keeper = (struct keeper *)arg;
    sem_wait(&keeper->may_begin);
    for (;;) {
        struct seccomp_notif call = {0};
        if (ioctl(keeper->listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;
        struct seccomp_notif_resp answer = {.id = call.id};
        if (decide(keeper, (pid_t)call.pid, call.data.nr))
            answer.error = -keeper->gate->error;
        else
            answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        ioctl(keeper->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
    return NULL;
}

void gate_count(struct gate *gate, const int *calls, size_t count)
{
    static struct keeper keeper;
    int watched[MOST_CALLS] = {SAY_BEGUN, ASK_TO_OPEN};
    CHECK(count + 2 <= MOST_CALLS);
    memcpy(watched + 2, calls, count * sizeof(*calls));
    keeper.gate = gate;
    keeper.calls = calls;
    CHECK(sem_init(&keeper.may_begin, 0, 0) == 0);
    start_thread(keep_gate, &keeper);
    keeper.listener =
        install(watched, count + 2, SECCOMP_RET_USER_NOTIF, SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    sem_post(&keeper.may_begin);
}

void gate_say_begun(void)
{
    syscall(SAY_BEGUN);
}

void gate_ask_to_open(void)
{
    syscall(ASK_TO_OPEN);
}
