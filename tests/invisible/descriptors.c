/* Descriptors that an allocator holds: those that are open after a start and a burst beside 0, 1 and 2, and those that
 * keep a pipe open which the program has left. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figure.h"
#include "support.h"

/* Options under which a library may want to write later.  Other allocators have no such options. */
static char *const options[] = {"HZ3_TEST_NONE=1", "HZ3_STATS=1", "HZ3_STATS=/dev/null", "HZ3_PROFILE=512K",
                                "HZ3_GUARD=100"};
enum { OPTIONS = COUNT_OF(options), LEASH = 3 };

static void list(void)
{
    burst();
    figure((double)entries("/proc/self/fd") - 3);
}

/* Writes a line, becomes a daemon, and stays until the other end of the leash is closed. */
static void stay(void)
{
    char byte;
    free(malloc(100));
    fputs("starting\n", stderr);
    CHECK(daemon(0, 0) == 0);
    free(malloc(100));
    while (read(LEASH, &byte, 1) > 0);
}

/* Starts one with stderr in a pipe, and returns the end to read from. */
static int start_daemon(char *option, int leash)
{
    int ends[2], status;
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        putenv(option);
        CHECK(dup2(ends[1], STDERR_FILENO) >= 0 && dup2(leash, LEASH) >= 0);
        syscall(SYS_close_range, LEASH + 1, ~0u, 0);
        become("stay");
    }
    close(ends[1]);
    CHECK(waitpid(child, &status, 0) == child && status == 0); /* the daemon is a child of it */
    return ends[0];
}

/* How many pipes have no end 3 s after the program became a daemon. */
static size_t kept_pipes(void)
{
    int leash[2], out[OPTIONS];
    size_t kept = 0;
    CHECK(pipe(leash) == 0);
    putenv("HZ3_PROFILE_FILE=/dev/null");
    for (size_t i = 0; i < OPTIONS; i++) out[i] = start_daemon(options[i], leash[0]);
    double end = now() + 3;
    for (size_t i = 0; i < OPTIONS; i++) {
        char text[256];
        ssize_t got = 1;
        while (got > 0) {
            double left = end - now();
            struct pollfd waiting = {out[i], POLLIN, 0};
            if (poll(&waiting, 1, left > 0 ? (int)(left * 1000) : 0) == 0) break;
            got = read(out[i], text, sizeof(text));
        }
        kept += got > 0;
    }
    return kept;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    if (strcmp(argv[1], "list") == 0) list();
    if (strcmp(argv[1], "stay") == 0) stay();
    if (strcmp(argv[1], "daemon") == 0) figure((double)kept_pipes());
    if (strcmp(argv[1], "stats_file") == 0) putenv("HZ3_STATS=/dev/null");
    if (strcmp(argv[1], "start") == 0 || strcmp(argv[1], "stats_file") == 0) {
        syscall(SYS_close_range, 3, ~0u, 0);
        become("list");
    }
}
