/* Proves that a program lives in a control group that has little room, also where it has less room than at the start,
 * or where it changes its root, and sees no file of the group any more.  Threads in turn fill, pass on and drop bursts
 * of one size; the size changes from burst to burst.  The group kills it where free memory stays, or where hz3 does not
 * count the program's own mappings.  Skipped where no group with a limit can be made. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { THREADS = 4, BURSTS = 8, LIVE = 100 /* MiB */, ROOM = 15, MUCH = 1000 };

struct object {
    struct object *next;
};

static const size_t sizes[] = {48, 200, 1000, 64, 5000, 80, 30000, 128, 700, 100000, 96, 2500, 400000, 112, 12000, 320};
static pthread_barrier_t turn;
static struct object *bags[THREADS];

static void *work(void *number)
{
    size_t me = (size_t)(uintptr_t)number;
    for (size_t burst = 0; burst < BURSTS; burst++) {
        size_t size = sizes[(burst + me) % COUNT_OF(sizes)];
        for (size_t i = 0; i < MIB(LIVE) / THREADS / size; i++) {
            struct object *object = malloc(size);
            CHECK(object);
            memset(object, 1, size);
            object->next = bags[me];
            bags[me] = object;
        }
        pthread_barrier_wait(&turn);
        struct object **bag = &bags[(me + (burst & 1)) % THREADS];
        for (struct object *object; (object = *bag);) {
            *bag = object->next;
            free(object);
        }
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

static void map(size_t bytes)
{
    char *own = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(own != MAP_FAILED);
    memset(own, 1, bytes);
}

static void run(void)
{
    pthread_t threads[THREADS];
    CHECK(pthread_barrier_init(&turn, NULL, THREADS) == 0);
    for (size_t i = 0; i < THREADS; i++) threads[i] = start_thread(work, (void *)(uintptr_t)i);
    for (size_t i = 0; i < THREADS; i++) join_thread(threads[i]);
}

static bool write_file(const char *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return done;
}

/* In a group of version 1, or of version 2. */
static bool set_limit(const char *folder, size_t limit)
{
    char text[32];
    snprintf(text, sizeof(text), "%zu", limit);
    return write_file(folder, "memory.limit_in_bytes", text) || write_file(folder, "memory.max", text);
}

/* In version 2 where that has the memory controller. */
static bool make_group(char folder[64], size_t limit)
{
    const char *const parents[] = {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"};
    for (size_t i = 0; i < COUNT_OF(parents); i++) {
        snprintf(folder, 64, "%s/hz3-test-%d", parents[i], (int)getpid());
        if (mkdir(folder, 0700) != 0) continue;
        if (set_limit(folder, limit)) return true;
        rmdir(folder);
    }
    return false;
}

/* By then hz3 knows the limit that there was, and reads it again when a second has passed. */
static void change(const char *what, const char *folder)
{
    free(forget(memset(malloc(MIB(LIVE / 2)), 1, MIB(LIVE / 2))));
    CHECK(strcmp(what, "limit") == 0 ? set_limit(folder, MIB(LIVE + ROOM)) : chroot(folder) == 0);
    sleep_for(1.5);
}

/* what changes: "limit", "root" or NULL. */
static void lives_with(size_t mapped, size_t room_at_first, const char *what)
{
    char folder[64];
    int status;
    if (!make_group(folder, MIB(LIVE + mapped + room_at_first))) skip_test("no control group can be made");
    pid_t child = fork();
    if (child == 0) {
        if (!write_file(folder, "cgroup.procs", "0")) _exit(2);
        char bytes[24];
        snprintf(bytes, sizeof(bytes), "%zu", MIB(mapped));
        execl("/proc/self/exe", "group", bytes, what, folder, (char *)NULL);
        _exit(3);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    for (int i = 0; i < 100 && rmdir(folder) != 0; i++) sleep_for(0.02);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) map(strtoul(argv[1], NULL, 10));
    if (argc > 3) change(argv[2], argv[3]);
    if (argc > 1) return run(), 0;
    lives_with(0, ROOM, NULL);
    lives_with(50, ROOM, NULL);
    lives_with(0, MUCH, "limit");
    if (geteuid() == 0) lives_with(50, ROOM, "root");
    return 0;
}
