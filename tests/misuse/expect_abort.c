/* Proves that a program ends with SIGABRT and exactly one line on stderr.  The line has "hz3: ", words that match the
 * expression, the pointer that the program printed before, and the caller, which must be in the program.  If the line
 * names a thread, it must be the program's only one.
 *
 *     expect_abort EXPRESSION LIBRARY FLAG DETAIL PROGRAM [ARGUMENT...]
 *
 * DETAIL: "call" requires the caller, "thread" a thread as well, and "thread_alone" no caller.  "none" allows neither,
 * for misuse that is found later. "maybe" allows a caller, for two calls that race. With a FLAG such as
 * HZ3_FREE_CHECK=1 the test is skipped if the library's config string does not have it. */
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support.h"

static const char *config_of(const char *library)
{
    int fd = open(library, O_RDONLY | O_CLOEXEC);
    struct stat file;
    CHECK(fd >= 0 && fstat(fd, &file) == 0);
    const char *image = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    CHECK(image != MAP_FAILED);
    const char *config = memmem(image, (size_t)file.st_size, "hz3-config: ", strlen("hz3-config: "));
    CHECK(config != NULL);
    return config;
}

static bool has_word(const char *words, const char *word)
{
    for (const char *at = words; (at = strstr(at, word)) != NULL; at++)
        if (at[-1] == ' ' && (at[strlen(word)] == ' ' || at[strlen(word)] == 0)) return true;
    return false;
}

enum { POINTER = 2, THREAD = 5, GROUPS };

static void expect_message(const char *said, const char *expression, const char *detail, const char *program,
                           const char *accused)
{
    char pattern[512], called[256] = "", *after;
    regex_t line;
    regmatch_t found[GROUPS];
    bool of_thread = strcmp(detail, "thread") == 0;
    if (strcmp(detail, "thread_alone") == 0)
        strcpy(called, "( \\((cached by thread ([0-9]+))\\))");
    else if (strcmp(detail, "none") != 0)
        snprintf(called, sizeof(called), "( \\((cached by thread ([0-9]+), )%scalled from %s\\+0x[0-9a-f]+\\))%s",
                 of_thread ? "" : "?", strrchr(program, '/') + 1, strcmp(detail, "maybe") == 0 ? "?" : "");
    CHECK((size_t)snprintf(pattern, sizeof(pattern), "^hz3: (%s): 0x([0-9a-f]+)%s\n$", expression, called) <
          sizeof(pattern));
    CHECK(regcomp(&line, pattern, REG_EXTENDED) == 0);
    CHECK(regexec(&line, said, *called ? GROUPS : POINTER + 1, found, 0) == 0);
    CHECK(strtoull(said + found[POINTER].rm_so, NULL, 16) == strtoull(accused, &after, 16));
    if (*called && found[THREAD].rm_so >= 0) CHECK(atoi(said + found[THREAD].rm_so) == atoi(after));
    regfree(&line);
}

int main(int argc, char **argv)
{
    CHECK(argc >= 6);
    const char *expression = argv[1], *library = argv[2], *flag = argv[3];
    if (*flag != 0 && !has_word(config_of(library), flag)) skip_test(flag);

    char preload[4096];
    CHECK((size_t)snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", library) < sizeof(preload));
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    struct program_run run = run_program((const char *const *)argv + 5, (const char *const[]){preload, NULL}, 20);
    printf("status 0x%x\naccused: %sstderr: %s", run.status, run.out, run.err);
    fflush(stdout);
    CHECK(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGABRT);
    expect_message(run.err, expression, argv[4], argv[5], run.out);
}
