/* A thread that runs by a scheduling policy of its own (SCHED_BATCH, which everybody may ask for) on one processor
 * frees a burst.  The figure counts the threads that are not this program's and have its policy or its processor alone,
 * at any time in the 3 s after. */
#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "figure.h"
#include "support.h"

static pid_t freeing;

static size_t marked_threads(int processors)
{
    DIR *dir = opendir("/proc/self/task");
    CHECK(dir != NULL);
    size_t found = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        cpu_set_t set;
        if (thread == 0 || thread == getpid() || thread == freeing) continue;
        if (sched_getaffinity(thread, sizeof(set), &set) != 0) continue; /* it has ended */
        found += sched_getscheduler(thread) == SCHED_BATCH || CPU_COUNT(&set) < processors;
    }
    closedir(dir);
    return found;
}

static void *free_a_burst(void *arg)
{
    cpu_set_t set, one;
    CHECK(sched_getaffinity(0, sizeof(set), &set) == 0);
    int first = 0;
    while (!CPU_ISSET(first, &set)) first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    freeing = gettid();
    CHECK(sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}) == 0);
    CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
    burst();
    size_t most = 0;
    for (double end = now() + 3; now() < end; sleep_for(0.002)) {
        size_t found = marked_threads(CPU_COUNT(&set));
        if (found > most) most = found;
    }
    *(size_t *)arg = most;
    return NULL;
}

int main(void)
{
    size_t found;
    join_thread(start_thread(free_a_burst, &found));
    figure((double)found);
}
