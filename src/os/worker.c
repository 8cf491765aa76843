#define _GNU_SOURCE
#include "os/worker.h"

#include "os/os.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

static cpu_set_t first[8]; /* Linux refuses a set that is too small for its CPUs, of which it has 8192 at most */
static bool known;

unsigned hz3_os_first_cpus(void)
{
    known = sched_getaffinity(0, sizeof first, first) == 0;
    return known ? (unsigned)CPU_COUNT_S(sizeof first, first) : 1;
}

void hz3_os_become_worker(void)
{
    const struct sched_param none = {0};
    if (known) sched_setaffinity(0, sizeof first, first);
    pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
    /* For Linux a thread has a nice value of its own, and the main thread's number is the process's. */
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, (id_t)hz3_os.pid));
}
