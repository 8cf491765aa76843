/* Proves that a misuse ends the process with SIGABRT, though nobody reads any more what it writes to stderr. */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static void free_twice(void *unused)
{
    int ends[2];
    (void)unused;
    CHECK(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO && close(ends[0]) == 0);
    CHECK(setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) == 0);
    void *p = forget(malloc(MIB(1)));
    free(p);
    free(forget(p));
}

int main(void)
{
    int status;
    pid_t child = in_child(free_twice, NULL);
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
