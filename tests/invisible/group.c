/* Whether a program is killed that runs in a control group of 115 MiB: four threads fill, pass on and drop bursts of
 * one size, 100 MiB live at most, and the size changes from burst to burst. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figure.h"
#include "support.h"

enum { THREADS = 4, BURSTS = 8, LIVE = 100, LIMIT = 115 };

struct object {
    struct object *next;
};
static const size_t sizes[] = {48, 200, 1000, 64, 5000, 80, 30000, 128, 700, 100000, 96};
static pthread_barrier_t barrier;
static struct object *held[THREADS];

static void *fill_and_drop(void *arg)
{
    size_t own = (uintptr_t)arg;
    for (size_t burst = 0; burst < BURSTS; burst++) {
        size_t size = sizes[(burst + own) % COUNT_OF(sizes)];
        for (size_t left = MIB(LIVE) / THREADS / size; left; left--) {
            struct object *object = malloc(size);
            CHECK(object != NULL);
            memset(object, 1, size);
            object->next = held[own];
            held[own] = object;
        }
        pthread_barrier_wait(&barrier);
        struct object **list = &held[(own + burst % 2) % THREADS];
        for (struct object *object; (object = *list); free(object)) *list = object->next;
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void work(void)
{
    pthread_t thread[THREADS];
    CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
    for (uintptr_t i = 0; i < THREADS; i++) thread[i] = start_thread(fill_and_drop, (void *)i);
    for (int i = 0; i < THREADS; i++) join_thread(thread[i]);
}

static bool put(const char *folder, const char *file, const char *text)
{
    char path[200];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return done;
}

/* Makes a group with the limit, of version 1 or 2. */
static bool make_group(char folder[100])
{
    char limit[32];
    snprintf(limit, sizeof(limit), "%zu", MIB(LIMIT));
    snprintf(folder, 100, "/sys/fs/cgroup/memory/hz3-test.%d", getpid());
    if (mkdir(folder, 0755) == 0) {
        if (put(folder, "memory.limit_in_bytes", limit)) return true;
        rmdir(folder);
    }
    snprintf(folder, 100, "/sys/fs/cgroup/hz3-test.%d", getpid());
    if (mkdir(folder, 0755) != 0) return false;
    if (put(folder, "memory.max", limit)) {
        put(folder, "memory.swap.max", "0");
        return true;
    }
    rmdir(folder);
    return false;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        work();
        return 0;
    }
    char folder[100];
    int status;
    if (!make_group(folder))
        skip_test("no control group with a limit of memory can be made here (root can, as a rule)");
    pid_t child = fork();
    if (child == 0) {
        if (!put(folder, "cgroup.procs", "0")) _exit(2);
        become("work");
    }
    bool ended = child > 0 && waitpid(child, &status, 0) == child;
    for (int i = 0; i < 100 && rmdir(folder) != 0 && errno == EBUSY; i++) sleep_for(0.05);
    CHECK(ended && (status == 0 || WIFSIGNALED(status)));
    figure(status != 0);
}
