/* Proves that whoever reads a program's stderr until its end is not kept waiting by hz3: while the program runs, only
 * descriptor 2 leads there, whatever hz3 is to write in the end.  A program that closes stderr itself in a handler of
 * atexit, as GNU coreutils do, still shows statistics; so does its child. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { LIVES = 8 /* s */, SOON = 4000 /* ms */ };

static void become_daemon(pid_t child)
{
    CHECK(child >= 0);
    if (child) exit(0);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= STDERR_FILENO; fd++) CHECK(dup2(null, fd) == fd);
    free(forget(malloc(100)));
    sleep(LIVES);
}

static void close_stderr(void)
{
    CHECK(fclose(stderr) == 0);
}

static void end(void *unused)
{
    (void)unused;
    exit(0);
}

static int act(const char *what)
{
    free(forget(malloc(100)));
    if (strcmp(what, "daemon") == 0) become_daemon(fork());
    if (strcmp(what, "clone") == 0) become_daemon((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); /* unknown to libc */
    if (strcmp(what, "closes") == 0) {                                                             /* and lives on */
        close(STDERR_FILENO);
        sleep(LIVES);
    }
    if (strncmp(what, "at_exit", 7) == 0) CHECK(atexit(close_stderr) == 0);
    if (strcmp(what, "at_exit_of_child") == 0) expect_success(in_child(end, NULL), 5);
    return 0;
}

/* Starts the program with `end` as its stderr. */
static pid_t start(const char *what, const char *option, int end)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child) return child;
    char file[] = "HZ3_PROFILE_FILE=/dev/null", *text = strdup(option);
    putenv(file);
    putenv(text);
    CHECK(dup2(end, STDERR_FILENO) == STDERR_FILENO);
    execl("/proc/self/exe", "daemon", what, (char *)NULL);
    _exit(127);
}

/* What can be read of it until its end, which has to come soon. */
static const char *read_all(const char *what, const char *option, const int ends[2])
{
    static char text[8192];
    size_t length = 0;
    ssize_t got;
    pid_t child = start(what, option, ends[1]);
    close(ends[1]);
    struct pollfd reader = {.fd = ends[0], .events = POLLIN};
    do {
        CHECK(poll(&reader, 1, SOON) == 1);
        got = read(ends[0], text + length, sizeof(text) - 1 - length);
        CHECK(got >= 0 && (length += (size_t)got) < sizeof(text) - 1);
    } while (got > 0);
    close(ends[0]);
    text[length] = 0;
    if (strcmp(what, "closes") == 0) kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
    char snapshot[1024];
    const char *named = strstr(text, "] hz3 explain ");
    if (named) CHECK(sscanf(named, "] hz3 explain %1023s says", snapshot) == 1 && unlink(snapshot) == 0);
    return text;
}

static const char *said(const char *what, const char *option)
{
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    return read_all(what, option, ends);
}

static size_t reports(const char *text)
{
    size_t found = 0;
    while ((text = strstr(text, "] stats (bytes)"))) found++, text++;
    return found;
}

int main(int argc, char **argv)
{
    static const char *const options[] = {"HZ3_STATS=1", "HZ3_STATS=explain", "HZ3_STATS=/dev/null", "HZ3_PROFILE=512K",
                                          "HZ3_GUARD=10"};
    int ends[2];
    if (argc == 2) return act(argv[1]);
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        said("daemon", options[i]);
        said("clone", options[i]);
        said("closes", options[i]);
    }
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    read_all("daemon", "HZ3_STATS=1", ends);
    CHECK(reports(said("at_exit", "HZ3_STATS=1")) == 1);
    CHECK(reports(said("at_exit_of_child", "HZ3_STATS=1")) == 2);
    CHECK(strstr(said("at_exit", "HZ3_STATS=/nowhere/at/all"), "cannot write statistics to /nowhere/at/all"));
    return 0;
}
