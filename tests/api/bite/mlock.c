/* Proves that a program that locks its memory (mlockall(MCL_FUTURE)) has at most 1.2 times the locked and resident
 * memory that it has with libc's malloc.  Reservations and retained memory must not be locked, too.  A program that
 * forked before, beside a thread, has at most 1.2 times the memory that it has otherwise.  After munlockall it keeps
 * what it freed, as it does where it never locked memory. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "support.h"

struct figures {
    size_t locked, resident;
};

static struct figures measure(const char *probe, const char *how, const char *const environment[])
{
    struct figures figures;
    struct program_run run = run_program((const char *const[]){probe, how, NULL}, environment, 20);
    fputs(run.err, stderr);
    CHECK(WIFEXITED(run.status) && WEXITSTATUS(run.status) == 0);
    if (sscanf(run.out, "%zu %zu", &figures.locked, &figures.resident) != 2)
        skip_test("mlockall is not permitted here (RLIMIT_MEMLOCK)");
    return figures;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    const char *const hz3[] = {NULL}, *const standard[] = {"LD_PRELOAD=", NULL};
    struct figures here = measure(argv[1], "future", hz3), libc = measure(argv[1], "future", standard);
    struct figures forked = measure(argv[1], "forked", hz3), current = measure(argv[1], "current", hz3);
    const char *const keeping[] = {"HZ3_RETAIN=256M", NULL};
    struct figures unlocked = measure(argv[1], "unlocked", keeping);
    printf("after munlockall %zu; ", unlocked.resident);
    printf("locked %zu, by the libc %zu; resident %zu, by the libc %zu; after a fork %zu, without %zu\n", here.locked,
           libc.locked, here.resident, libc.resident, forked.resident, current.resident);
    fflush(stdout);
    CHECK(here.locked <= libc.locked + libc.locked / 5);
    CHECK(here.resident <= libc.resident + libc.resident / 5);
    CHECK(unlocked.resident >= MIB(64));
    CHECK(forked.resident <= current.resident + current.resident / 5);
}
