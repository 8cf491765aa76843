/* The MiB that gdb's gcore writes of an idle process that once had a block of 500 MiB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figure.h"
#include "support.h"

static void become_idle(void)
{
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    char *block = malloc(MIB(500));
    CHECK(block != NULL);
    memset(forget(block), 1, MIB(500));
    free(block);
    sleep_for(2);
    free(forget(malloc(70000)));
    figure(0);
    for (;;) pause();
}

static int dump(pid_t process)
{
    char number[16];
    int status;
    snprintf(number, sizeof(number), "%d", process);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        unsetenv("LD_PRELOAD"); /* gdb has a malloc of its own choice */
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(1);
        execlp("gcore", "gcore", "-o", "core", number, (char *)NULL);
        _exit(127);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) become_idle();
    int ready[2];
    char byte;
    CHECK(pipe(ready) == 0);
    pid_t idle = again(ready[1], (const char *const[]){"idle", NULL});
    CHECK(read(ready[0], &byte, 1) == 1);
    int status = dump(idle);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) skip_test("gcore is not here (package gdb)");
    if (status != 0) skip_test("gcore may not look at a process here");
    char name[32];
    struct stat file;
    snprintf(name, sizeof(name), "core.%d", idle);
    CHECK(stat(name, &file) == 0);
    figure((double)(file.st_size >> 20));
}
