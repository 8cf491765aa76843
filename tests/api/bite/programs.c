#include "programs.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

extern char **environ;

static void by_vfork(void)
{
    pid_t child = vfork();
    CHECK(child >= 0);
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
        _exit(127);
    }
    expect_success(child, 10);
}

static void by_posix_spawn(void)
{
    static char *const argv[] = {"sh", "-c", "exit 0", NULL};
    pid_t child;
    CHECK(posix_spawn(&child, "/bin/sh", NULL, NULL, argv, environ) == 0);
    expect_success(child, 10);
}

static void by_system(void)
{
    int status = system("exit 7");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void by_popen(void)
{
    char said[20] = "";
    FILE *pipe = popen("echo spoken", "r");
    CHECK(pipe != NULL);
    CHECK(fgets(said, sizeof(said), pipe) != NULL && strcmp(said, "spoken\n") == 0);
    CHECK(pclose(pipe) == 0);
}

void start_programs(void)
{
    by_vfork();
    by_posix_spawn();
    by_system();
    by_popen();
}
