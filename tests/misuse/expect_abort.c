/* Proves of one program that it ends with SIGABRT and exactly one line on stderr: "hz3: ", words that match
 * the expression, and the pointer that the program had accused on stdout.
 *
 *     expect_abort EXPRESSION LIBRARY FLAG PROGRAM [ARGUMENT...]
 *
 * With a FLAG such as HZ3_FREE_CHECK=1 the run is skipped where the library's config string lacks it. */
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

static void expect_message(const char *said, const char *expression, uintptr_t accused)
{
    char pattern[256];
    regex_t line;
    regmatch_t found[3];
    CHECK((size_t)snprintf(pattern, sizeof(pattern), "^hz3: (%s): 0x([0-9a-f]+)\n$", expression) < sizeof(pattern));
    CHECK(regcomp(&line, pattern, REG_EXTENDED) == 0);
    CHECK(regexec(&line, said, COUNT_OF(found), found, 0) == 0);
    CHECK(strtoull(said + found[2].rm_so, NULL, 16) == accused);
    regfree(&line);
}

int main(int argc, char **argv)
{
    CHECK(argc >= 5);
    const char *expression = argv[1], *library = argv[2], *flag = argv[3];
    if (*flag != 0 && !has_word(config_of(library), flag)) skip_test(flag);

    char preload[4096];
    CHECK((size_t)snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", library) < sizeof(preload));
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    struct program_run run = run_program((const char *const *)argv + 4, (const char *const[]){preload, NULL}, 20);
    printf("status 0x%x\naccused: %sstderr: %s", run.status, run.out, run.err);
    fflush(stdout);
    CHECK(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGABRT);
    expect_message(run.err, expression, strtoull(run.out, NULL, 16));
}
