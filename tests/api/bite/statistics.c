/* Proves that statistics are written to stderr and nowhere else: at exit, if the program has closed stderr, has reused
 * every other descriptor for files of its own, is under a seccomp filter, or has a thread that holds stdout's lock; and
 * by malloc_stats in a thread with the smallest stack, which is enough for malloc_info, too. */
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"
#include "support.h"

enum { LAST = 200 }; /* above the descriptor that hz3 keeps */

static const int allowed[] = {SYS_mmap,  SYS_munmap, SYS_mremap,     SYS_madvise, SYS_mprotect,
                              SYS_futex, SYS_write,  SYS_exit_group, SYS_exit,    SYS_rt_sigreturn};

/* Every other descriptor becomes stdout, where statistics_of sees any output. */
static void closes_all_others(void)
{
    for (int fd = STDERR_FILENO + 1; fd <= LAST; fd++) CHECK(dup2(STDOUT_FILENO, fd) == fd);
}

static void *hold_stdout(void *held)
{
    flockfile(stdout);
    pthread_barrier_wait(held);
    pause();
    return NULL;
}

static void another_holds_stdout(void)
{
    static pthread_barrier_t held;
    CHECK(pthread_barrier_init(&held, NULL, 2) == 0);
    start_thread(hold_stdout, &held);
    pthread_barrier_wait(&held);
}

static void *print(void *unused)
{
    FILE *nowhere = fopen("/dev/null", "w");
    free(forget(malloc(100)));
    malloc_stats();
    CHECK(nowhere && malloc_info(0, nowhere) == 0 && fclose(nowhere) == 0);
    return unused;
}

static void has_little_stack(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) == 0);
    CHECK(pthread_create(&thread, &attributes, print, NULL) == 0);
    join_thread(thread);
}

static struct program_run statistics_of(const char *what, const char *how)
{
    struct program_run run =
        run_program((const char *const[]){"/proc/self/exe", what, NULL}, (const char *const[]){how, NULL}, 10);
    CHECK(WIFEXITED(run.status) && WEXITSTATUS(run.status) == 0);
    CHECK(run.out[0] == 0);
    CHECK(strncmp(run.err, "hz3: [", strlen("hz3: [")) == 0);
    CHECK(strstr(run.err, " exe] stats") != NULL);
    bool explained = strcmp(how, "HZ3_STATS=explain") == 0 && strcmp(what, "locks_itself_in") != 0;
    char snapshot[1024];
    const char *named = strstr(run.err, "] hz3 explain ");
    CHECK((named != NULL) == explained);
    if (named) CHECK(sscanf(named, "] hz3 explain %1023s says", snapshot) == 1 && unlink(snapshot) == 0);
    return run;
}

/* It may open no file. */
static void warns_that_there_is_no_profile(void)
{
    struct program_run run = run_program((const char *const[]){"/proc/self/exe", "locks_itself_in", NULL},
                                         (const char *const[]){"HZ3_PROFILE=1", NULL}, 10);
    CHECK(WIFEXITED(run.status) && WEXITSTATUS(run.status) == 0);
    CHECK(strncmp(run.err, "hz3: warning: no heap profile: ", strlen("hz3: warning: no heap profile: ")) == 0);
}

/* malloc_info writes XML, also where the program's name has characters that mean something there. */
static void writes_xml(void)
{
    char folder[] = "/tmp/hz3-statistics-XXXXXX", name[64], program[PATH_MAX] = "";
    CHECK(mkdtemp(folder) != NULL && readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
    snprintf(name, sizeof(name), "%s/it's<a&b", folder);
    CHECK(symlink(program, name) == 0);
    struct program_run run =
        run_program((const char *const[]){name, "writes_xml", NULL}, (const char *const[]){NULL}, 10);
    CHECK(unlink(name) == 0 && rmdir(folder) == 0);
    CHECK(strstr(run.out, "<hz3 json='{") != NULL && strstr(run.out, "}'/>\n</malloc>\n") != NULL);
    CHECK(strstr(run.out, "\"it&#39;s&#60;a&#38;b\"") != NULL);
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        free(forget(malloc(100)));
        if (strcmp(argv[1], "closes_stderr") == 0) close(STDERR_FILENO);
        if (strcmp(argv[1], "closes_all_others") == 0) closes_all_others();
        if (strcmp(argv[1], "locks_itself_in") == 0) gate_allow_only(allowed, COUNT_OF(allowed), true);
        if (strcmp(argv[1], "another_holds_stdout") == 0) another_holds_stdout();
        if (strcmp(argv[1], "has_little_stack") == 0) has_little_stack();
        if (strcmp(argv[1], "writes_xml") == 0) CHECK(malloc_info(0, stdout) == 0);
        exit(0);
    }
    statistics_of("closes_stderr", "HZ3_STATS=explain");
    statistics_of("closes_all_others", "HZ3_STATS=explain");
    statistics_of("locks_itself_in", "HZ3_STATS=explain");
    statistics_of("locks_itself_in", "HZ3_STATS=./of.txt");
    warns_that_there_is_no_profile();
    statistics_of("another_holds_stdout", "HZ3_STATS=explain");
    statistics_of("has_little_stack", "HZ3_STATS=explain");
    writes_xml();
}
