/* Proves that hz3's background thread is a thread of the process, not of whoever freed: SCHED_OTHER, the main thread's
 * nice value, all of the process's processors, and every signal blocked. */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support.h"

enum { BLOCKS = 64, NICER = 5 };

static cpu_set_t all;
static int nice_of_main;

/* A thread of the process beside the main one and this; 0: there is none. */
static pid_t third(void)
{
    pid_t found = 0, self = (pid_t)syscall(SYS_gettid);
    DIR *dir = opendir("/proc/self/task");
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir));) {
        pid_t thread = atoi(entry->d_name);
        if (thread && thread != getpid() && thread != self) found = thread;
    }
    closedir(dir);
    return found;
}

static uint64_t blocked_signals(pid_t thread)
{
    char path[64], line[256];
    uint64_t blocked = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "SigBlk:", 7) == 0) blocked = strtoull(line + 7, NULL, 16);
    fclose(file);
    return blocked;
}

static bool is_as_it_should_be(pid_t thread)
{
    cpu_set_t cpus;
    CHECK(sched_getaffinity(thread, sizeof cpus, &cpus) == 0);
    return CPU_EQUAL(&cpus, &all) && sched_getscheduler(thread) == SCHED_OTHER &&
           getpriority(PRIO_PROCESS, (id_t)thread) == nice_of_main;
}

static void *free_as_somebody_else(void *arg)
{
    static void *block[BLOCKS];
    const struct sched_param urgent = {.sched_priority = 1};
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK(setpriority(PRIO_PROCESS, 0, nice_of_main + NICER) == 0);
    if (sched_setscheduler(0, SCHED_FIFO, &urgent)) skip_test("a thread may not be SCHED_FIFO here");
    for (int i = 0; i < BLOCKS; i++) {
        CHECK((block[i] = malloc(MIB(1))) != NULL);
        memset(block[i], 1, MIB(1));
    }
    for (int i = 0; i < BLOCKS; i++) free(block[i]);
    pid_t thread = third();
    CHECK(thread != 0);
    double until = now() + 5;
    while (!is_as_it_should_be(thread) && now() < until) sleep_for(0.001);
    CHECK(is_as_it_should_be(thread));
    uint64_t every =
        ~(uint64_t)0 >> 1 & ~(UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1) | UINT64_C(7) << 31);
    CHECK((blocked_signals(thread) & every) == every); /* libc keeps the first of the real-time signals for itself */
    return arg;
}

int main(void)
{
    if (geteuid() != 0) skip_test("only root may make a thread SCHED_FIFO");
    nice_of_main = getpriority(PRIO_PROCESS, 0);
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    if (CPU_COUNT(&all) < 2) skip_test("there is one processor");
    join_thread(start_thread(free_as_somebody_else, NULL));
    return 0;
}
