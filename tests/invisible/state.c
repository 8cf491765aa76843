/* What a process has from its parent and keeps: its signal state, its limits, and what prctl and the like set.  The
 * program sets it, and becomes itself again, which counts the differences after a burst. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "figure.h"
#include "support.h"

enum { LIMITS = RLIM_NLIMITS, STATES = 12 };
/* libc handles these two once there is a thread, and lets nobody set them: what a parent ignores stays ignored. */
static const unsigned long long OF_LIBC = 3ull << 31;

static unsigned long long mask(const char *task, const char *line)
{
    char path[300], text[300];
    snprintf(path, sizeof(path), "/proc/self/task/%s/status", task);
    FILE *file = fopen(path, "r");
    unsigned long long found = ~0ull; /* a thread that has ended, or is about to, takes no signals */
    while (file && fgets(text, sizeof(text), file) && strcmp(text, "Threads:\t0\n") != 0)
        if (strncmp(text, line, strlen(line)) == 0) found = strtoull(text + strlen(line), NULL, 16);
    if (file) fclose(file);
    return found;
}

/* Signals that are blocked, ignored or handled, timers, and threads beside this one that may be given a signal. */
static size_t signal_changes(void)
{
    char own[16];
    snprintf(own, sizeof(own), "%d", getpid());
    size_t changes = 0;
    const char *lines[] = {"SigBlk:", "SigIgn:", "SigCgt:"};
    for (int i = 0; i < 3; i++) changes += (mask(own, lines[i]) & ~OF_LIBC) != 0;
    for (int timer = ITIMER_REAL; timer <= ITIMER_PROF; timer++) {
        struct itimerval value;
        CHECK(getitimer(timer, &value) == 0);
        changes += value.it_value.tv_sec || value.it_value.tv_usec;
    }
    DIR *dir = opendir("/proc/self/task");
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, own) == 0) continue;
        unsigned long long asked_for = 1ull << (SIGTERM - 1) | 1ull << (SIGINT - 1) | 1ull << (SIGALRM - 1);
        changes += (mask(entry->d_name, "SigBlk:") & asked_for) != asked_for;
    }
    closedir(dir);
    return changes;
}

static size_t most_signal_changes(void)
{
    burst();
    size_t most = signal_changes();
    for (double end = now() + 3; now() < end; sleep_for(0.01)) {
        size_t changes = signal_changes();
        if (changes > most) most = changes;
    }
    return most;
}

static void describe_limits(struct rlimit limits[LIMITS])
{
    for (int i = 0; i < LIMITS; i++) CHECK(getrlimit(i, &limits[i]) == 0);
}

static void describe_process(long state[STATES])
{
    mode_t mask = umask(0);
    umask(mask);
    cpu_set_t set;
    CHECK(sched_getaffinity(0, sizeof(set), &set) == 0);
    const long found[STATES] = {
        mask,
        CPU_COUNT(&set),
        getpriority(PRIO_PROCESS, 0),
        sched_getscheduler(0),
        personality(0xffffffff),
        prctl(PR_GET_DUMPABLE, 0, 0, 0, 0),
        prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
        prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0),
        prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0),
        prctl(PR_GET_CHILD_SUBREAPER, 0, 0, 0, 0),
        prctl(PR_GET_SECCOMP, 0, 0, 0, 0),
        prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0),
    };
    memcpy(state, found, sizeof(found));
}

/* What is compared is inherited in a pipe, whose end is descriptor 9. */
static void hand_on(const void *data, size_t size, const char *word)
{
    int ends[2];
    CHECK(pipe(ends) == 0 && write(ends[1], data, size) == (ssize_t)size && dup2(ends[0], 9) == 9);
    become(word);
}

static void set_and_become(const char *word)
{
    sigset_t none;
    sigemptyset(&none);
    CHECK(sigprocmask(SIG_SETMASK, &none, NULL) == 0);
    for (int i = 1; i < NSIG; i++) signal(i, SIG_DFL);
    struct rlimit limits[LIMITS], files;
    CHECK(getrlimit(RLIMIT_NOFILE, &files) == 0);
    CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){200, files.rlim_max}) == 0);
    CHECK(setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) == 0);
    CHECK(prctl(PR_SET_TIMERSLACK, 70000, 0, 0, 0) == 0);
    umask(027);
    long state[STATES];
    if (strcmp(word, "signals_after") == 0) become(word);
    if (strcmp(word, "limits_after") == 0) {
        describe_limits(limits);
        hand_on(limits, sizeof(limits), word);
    }
    describe_process(state);
    hand_on(state, sizeof(state), word);
}

static size_t changed_limits(void)
{
    struct rlimit before[LIMITS], after[LIMITS];
    size_t changes = 0;
    CHECK(read(9, before, sizeof(before)) == sizeof(before));
    burst();
    describe_limits(after);
    for (int i = 0; i < LIMITS; i++) changes += memcmp(&before[i], &after[i], sizeof(before[i])) != 0;
    return changes;
}

static size_t changed_process(void)
{
    long before[STATES], after[STATES];
    size_t changes = 0;
    CHECK(read(9, before, sizeof(before)) == sizeof(before));
    burst();
    describe_process(after);
    for (int i = 0; i < STATES; i++) changes += before[i] != after[i];
    return changes;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    if (strcmp(argv[1], "signals") == 0) set_and_become("signals_after");
    if (strcmp(argv[1], "limits") == 0) set_and_become("limits_after");
    if (strcmp(argv[1], "process") == 0) set_and_become("process_after");
    if (strcmp(argv[1], "signals_after") == 0) figure((double)most_signal_changes());
    if (strcmp(argv[1], "limits_after") == 0) figure((double)changed_limits());
    if (strcmp(argv[1], "process_after") == 0) figure((double)changed_process());
}
