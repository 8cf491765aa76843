/* Proves that a program that locks its memory (mlockall(MCL_FUTURE)) locks and holds at most 1.2 times what
 * it does under the libc's own malloc: reservations and retained memory must not be locked along. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "support.h"

struct figures {
    size_t locked, resident;
};

static struct figures measure(const char *probe, const char *const environment[])
{
    struct figures figures;
    struct program_run run = run_program((const char *const[]){probe, NULL}, environment, 20);
    fputs(run.err, stderr);
    CHECK(WIFEXITED(run.status) && WEXITSTATUS(run.status) == 0);
    if (sscanf(run.out, "%zu %zu", &figures.locked, &figures.resident) != 2)
        skip_test("mlockall is not permitted here (RLIMIT_MEMLOCK)");
    return figures;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    struct figures here = measure(argv[1], (const char *const[]){NULL});
    struct figures libc = measure(argv[1], (const char *const[]){"LD_PRELOAD=", NULL});
    printf("locked %zu, by the libc %zu; resident %zu, by the libc %zu\n", here.locked, libc.locked, here.resident,
           libc.resident);
    fflush(stdout);
    CHECK(here.locked <= libc.locked + libc.locked / 5);
    CHECK(here.resident <= libc.resident + libc.resident / 5);
}
