#define _GNU_SOURCE
#include "os/worker.h"

#include "os/gate.h"
#include "os/os.h"
#include "os/sandbox.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SETS = 8 };
static cpu_set_t first[SETS]; /* Linux refuses a set that is too small for its CPUs, of which it has 8192 at most */
static bool known;

unsigned hz3_os_first_cpus(void)
{
    known = sched_getaffinity(0, sizeof first, first) == 0;
    return known ? (unsigned)CPU_COUNT_S(sizeof first, first) : 1;
}

int (*hz3_os_make_worker)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = pthread_create;

/* A sanitizer has to know each thread, by its own function. */
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

void hz3_os_find_make_worker(void)
{
    void *next = &__asan_init || &__tsan_init ? NULL : dlsym(RTLD_NEXT, "pthread_create");
    if (next) *(void **)&hz3_os_make_worker = next;
}

/* Inside the gate, since a filter for all threads comes while nobody is. */
static void name_this_thread(void)
{
    if (!hz3_gate_enter()) return;
    int file = hz3_sandboxed() ? -1 : hz3_os_open_to_write("/proc/thread-self/comm", O_TRUNC);
    if (file >= 0) {
        hz3_os_write(file, "hz3", 3);
        hz3_os_close(file);
    }
    hz3_gate_leave();
}

/* Whether this thread's policy may stay. */
static bool is_usual(long policy)
{
    policy &= ~(long)SCHED_RESET_ON_FORK;
    if (policy != SCHED_BATCH && policy != SCHED_IDLE) return policy == SCHED_OTHER;
    return (syscall(SYS_sched_getscheduler, hz3_os.pid) & ~(long)SCHED_RESET_ON_FORK) == policy;
}

void hz3_os_made_worker(pthread_t worker)
{
    const struct sched_param none = {0};
    cpu_set_t now[SETS];
    bool bound = known && sched_getaffinity(0, sizeof now, now) == 0 && !CPU_EQUAL_S(sizeof now, now, first);
    if (bound) pthread_setaffinity_np(worker, sizeof first, first);
    /* musl's sched_getscheduler only fails, and glibc's pthread_getschedparam may tell what it was once told. */
    if (!is_usual(syscall(SYS_sched_getscheduler, 0))) pthread_setschedparam(worker, SCHED_OTHER, &none);
}

void hz3_os_become_worker(void)
{
    name_this_thread();
    hz3_os_made_worker(pthread_self());
    /* For Linux a thread has a nice value of its own, and the main thread's number is the process's. */
    int nice = getpriority(PRIO_PROCESS, (id_t)hz3_os.pid);
    if (getpriority(PRIO_PROCESS, 0) != nice) setpriority(PRIO_PROCESS, 0, nice);
}
