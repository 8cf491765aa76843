/* A program with one thread stays one after a burst: to the kernel, to libc, and to those that a program may ask only
 * as long as it has one thread. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figure.h"
#include "support.h"

/* The most threads at once, in a burst and in the 3 s after it. */
static double most_tasks(void)
{
    size_t most = 0;
    burst();
    for (double end = now() + 3; now() < end; sleep_for(0.002)) {
        size_t tasks = entries("/proc/self/task");
        if (tasks > most) most = tasks;
    }
    return (double)most;
}

static double libc_counts_several(void)
{
    burst();
    sleep_for(1.5);
    return !__libc_single_threaded;
}

/* The errno of unshare(CLONE_NEWUSER), which takes a process with one thread, during the idle time after a burst. */
static double refused_namespace(void)
{
    pid_t child = fork();
    int status;
    if (child == 0) _exit(unshare(CLONE_NEWUSER) != 0);
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (status != 0) skip_test("user namespaces are not permitted here");
    burst();
    return unshare(CLONE_NEWUSER) ? errno : 0;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    if (strcmp(argv[1], "tasks") == 0) figure(most_tasks());
    if (strcmp(argv[1], "libc") == 0) figure(libc_counts_several());
    if (strcmp(argv[1], "unshare") == 0) figure(refused_namespace());
}
