/* A signal handler forks at every single instruction while its thread passes the gate, with and without a slot of its
 * own.  And a thread that cannot do without locks waits while the system copies the process. */
#define _GNU_SOURCE
#include "unit.h"

#include "os/gate.h"
#include "os/os.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __x86_64__
enum { SLOW_MS = 2000, TRAP_FLAG = 0x100, LATE = 1, NEVER_EMPTY };

static volatile sig_atomic_t steps, slow_drains, failed_children;
static volatile bool in_child;

static bool drains_soon(bool *drained)
{
    uint64_t start = hz3_os_now_ms();
    hz3_gate_close();
    *drained = hz3_gate_drain();
    return hz3_os_now_ms() - start < SLOW_MS;
}

/* Forks as api/fork does.  The child goes on where the signal came, no longer in single steps. */
static void fork_here(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    bool drained;
    int status;
    steps++;
    slow_drains += !drains_soon(&drained);
    pid_t pid = _Fork(); /* without the handlers of atfork */
    if (pid == 0) {
        in_child = true;
        hz3_gate_after_fork();
        hz3_gate_open();
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
        return;
    }
    hz3_gate_open();
    if (waitpid(pid, &status, 0) != pid || status) failed_children++;
}

static void step(bool on)
{
    if (on)
        __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    else
        __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

/* The child is outside the gate now, wherever its parent was when it forked, so the gate must count nobody. */
static void leave_child(void)
{
    bool drained;
    if (!drains_soon(&drained)) _exit(LATE);
    _exit(drained ? 0 : NEVER_EMPTY);
}

static void pass_step_by_step(void)
{
    struct sigaction action = {.sa_sigaction = fork_here, .sa_flags = SA_SIGINFO}, before;
    steps = slow_drains = failed_children = 0;
    assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
    step(true);
    bool entered = hz3_gate_enter();
    hz3_gate_leave();
    step(false);
    if (in_child) leave_child();
    sigaction(SIGTRAP, &before, NULL);
    assert_true(entered);
    assert_true(steps > 20);
    assert_int_equal(slow_drains, 0);
    assert_int_equal(failed_children, 0);
}

static void without_a_slot(void **state)
{
    (void)state;
    hz3_gate_give_up_slot();
    pass_step_by_step();
    hz3_gate_claim_slot();
}

static void with_a_slot(void **state)
{
    (void)state;
    hz3_gate_claim_slot();
    pass_step_by_step();
}

static HZ3_ATOMIC(bool) copying, went_in;

/* A call that the system lets wait until its copy is done. */
uintptr_t __wrap_hz3_os_reserve(size_t bytes);
uintptr_t __wrap_hz3_os_reserve(size_t bytes)
{
    (void)bytes;
    while (hz3_get(copying)) hz3_os_sleep(1);
    return 0;
}

static void *cannot_do_without(void *unused)
{
    hz3_gate_enter_at_last();
    hz3_set(went_in, true);
    hz3_gate_leave();
    return unused;
}

static void nobody_goes_in_during_the_copy(void **state)
{
    (void)state;
    pthread_t thread;
    hz3_set(copying, true);
    hz3_gate_close();
    assert_int_equal(pthread_create(&thread, NULL, cannot_do_without, NULL), 0);
    hz3_os_sleep(1000);
    assert_false(hz3_get(went_in));
    hz3_set(copying, false);
    assert_int_equal(pthread_join(thread, NULL), 0); /* the gate is closed still, as in a fork that waits for libc */
    assert_true(hz3_get(went_in));
    hz3_gate_open();
}

RUN(cmocka_unit_test(without_a_slot), cmocka_unit_test(with_a_slot), cmocka_unit_test(nobody_goes_in_during_the_copy))
#else
int main(void)
{
    return 77;
}
#endif
