/* Proves that a heap profile whose reader is slow keeps no fork waiting, and no exit from a signal handler that
 * interrupted it; and that the last profile stays until the next is whole. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { FIFO_BYTES = 4096, SIZES = 2000, SOON = 5 /* s */ };

static char folder[] = "/tmp/hz3-profile-XXXXXX", file[64];

/* More lines than the FIFO takes. */
static void allocate_all_sizes(void)
{
    for (size_t i = 1; i <= SIZES; i++) free(forget(malloc(16 * i)));
}

static void *allocate(void *unused)
{
    for (;;) allocate_all_sizes();
    return unused;
}

/* The FIFO's end for reading, which is small. */
static int open_reader(void)
{
    int end = open(getenv("HZ3_PROFILE_FILE"), O_RDONLY | O_NONBLOCK);
    CHECK(end >= 0 && fcntl(end, F_SETPIPE_SZ, FIFO_BYTES) == FIFO_BYTES);
    return end;
}

static void wait_until_full(int end)
{
    for (int bytes = 0; bytes < FIFO_BYTES; sleep_for(0.001)) CHECK(ioctl(end, FIONREAD, &bytes) == 0);
    sleep_for(0.05);
}

static void do_nothing(void *unused)
{
    (void)unused;
}

static void forks_during_a_dump(void)
{
    int end = open_reader();
    start_thread(allocate, NULL);
    wait_until_full(end);
    double begun = now();
    expect_success(in_child(do_nothing, NULL), SOON);
    CHECK(now() - begun < SOON);
    _exit(0);
}

static void exit_here(int signal)
{
    (void)signal;
    exit(0);
}

static void *interrupt_and_read(void *of)
{
    char buf[FIFO_BYTES];
    int end = open_reader();
    wait_until_full(end);
    CHECK(pthread_kill(*(pthread_t *)of, SIGUSR1) == 0);
    for (;; sleep_for(0.0001))
        while (read(end, buf, sizeof(buf)) > 0) continue;
}

static void exits_during_a_dump(void)
{
    static pthread_t self;
    self = pthread_self();
    CHECK(signal(SIGUSR1, exit_here) != SIG_ERR);
    start_thread(interrupt_and_read, &self);
    allocate(NULL);
}

static void ends_at_a_limit(void)
{
    CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){FIFO_BYTES, FIFO_BYTES}) == 0);
    allocate_all_sizes();
}

static const char *run(const char *what, const char *dump)
{
    static struct program_run done;
    char variable[128];
    snprintf(variable, sizeof(variable), "HZ3_PROFILE_FILE=%s", file);
    done = run_program((const char *const[]){"/proc/self/exe", what, NULL},
                       (const char *const[]){"HZ3_PROFILE=1", variable, dump, NULL}, 2 * SOON);
    CHECK(WIFEXITED(done.status) && WEXITSTATUS(done.status) == 0);
    return done.err;
}

static struct stat state(void)
{
    struct stat now;
    CHECK(stat(file, &now) == 0);
    return now;
}

static void keeps_the_last(void)
{
    CHECK(*run("exits", NULL) == 0);
    struct stat first = state();
    CHECK(first.st_size > 2 * FIFO_BYTES && chmod(file, 0600) == 0);
    CHECK(strstr(run("ends_at_a_limit", NULL), "cannot write the heap profile") != NULL);
    struct stat second = state();
    CHECK(second.st_ino == first.st_ino && second.st_size == first.st_size);
    CHECK(*run("exits", NULL) == 0);
    struct stat third = state();
    CHECK(third.st_ino != first.st_ino && third.st_size > 2 * FIFO_BYTES && (third.st_mode & 0777) == 0600);
    CHECK(unlink(file) == 0 && rmdir(folder) == 0); /* nothing else is in it */
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        if (strcmp(argv[1], "forks_during_a_dump") == 0) forks_during_a_dump();
        if (strcmp(argv[1], "exits_during_a_dump") == 0) exits_during_a_dump();
        if (strcmp(argv[1], "ends_at_a_limit") == 0) ends_at_a_limit();
        if (strcmp(argv[1], "exits") == 0) allocate_all_sizes();
        return 0;
    }
    CHECK(mkdtemp(folder) != NULL);
    snprintf(file, sizeof(file), "%s/of.profile", folder);
    CHECK(mkfifo(file, 0600) == 0);
    run("forks_during_a_dump", "HZ3_DUMP=10ms"); /* which may warn of a dump before anybody listens */
    run("exits_during_a_dump", "HZ3_DUMP=10ms");
    CHECK(unlink(file) == 0);
    keeps_the_last();
}
