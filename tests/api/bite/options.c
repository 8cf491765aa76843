/* Proves what hz3 prints about options in the environment: effective values with their source, warnings that name the
 * error, statistics at exit, and otherwise nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define HZ3_OPTION(name, ...) "HZ3_" #name,
static const char *const names[] = {
#include "../../../src/api/options.def"
};

/* What a small program writes to stderr with these settings.  It always exits with 0. */
static const char *said_with(const char *first, const char *second)
{
    static struct program_run run;
    run = run_program((const char *const[]){"/proc/self/exe", "small", NULL},
                      (const char *const[]){first, second, NULL}, 10);
    fprintf(stderr, "-- %s %s\n%s", first ? first : "", second ? second : "", run.err);
    CHECK(WIFEXITED(run.status) && WEXITSTATUS(run.status) == 0);
    return run.err;
}

static bool line_has(const char *text, const char *first, const char *second)
{
    const char *at = strstr(text, first);
    const char *end = at != NULL ? strchr(at, '\n') : NULL;
    const char *found = at != NULL ? strstr(at, second) : NULL;
    return found != NULL && end != NULL && found < end;
}

static void is_silent_by_default(void)
{
    CHECK(*said_with(NULL, NULL) == 0);
}

static void warns_of_what_it_does_not_know(void)
{
    static const char *const bad[] = {
        "HZ3_BOGUS=1",         "HZ3_=1",          "HZ3_DECAYS=1",         "HZ3_DECAY=abc",      "HZ3_DECAY=-5",
        "HZ3_DECAY=10parsecs", "HZ3_THP=perhaps", "HZ3_THP=dense",        "HZ3_SOFT_LIMIT=12Q", "HZ3_FOREIGN_FREE=keep",
        "HZ3_WINDOW=much",     "HZ3_HEAPS=many",  "HZ3_BACKGROUND=maybe", "HZ3_WINDOW=16 ",     "HZ3_RETAIN=none",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char name[64];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(bad[i], "="), bad[i]);
        const char *said = said_with(bad[i], NULL);
        CHECK(strncmp(said, "hz3: warning: ", strlen("hz3: warning: ")) == 0);
        CHECK(line_has(said, "hz3: warning: ", name));
        CHECK(strchr(said, '\n') == said + strlen(said) - 1);
    }
}

static void says_which_range_it_takes(void)
{
    static const char *const bad[][2] = {{"HZ3_RETAIN_SHARE=0", "1 to 100"},
                                         {"HZ3_RETAIN_SHARE=101", "1 to 100"},
                                         {"HZ3_RETAIN_SHARE=2%%", "1 to 100"},
                                         {"HZ3_DECAY=2147484s", "2147483647 ms at most"},
                                         {"HZ3_HEAPS=0", "from 1 on"}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) CHECK(line_has(said_with(bad[i][0], NULL), "(it takes ", bad[i][1]));
}

static void ends_a_warning_that_is_cut_off(void)
{
    char variable[400] = "HZ3_X=";
    memset(variable + 6, 'x', sizeof(variable) - 7);
    const char *said = said_with(variable, NULL);
    CHECK(strncmp(said, "hz3: warning: ", strlen("hz3: warning: ")) == 0);
    CHECK(strlen(said) < sizeof(variable) && strchr(said, '\n') == said + strlen(said) - 1);
}

static void accepts_good_values(void)
{
    static const char *const good[] = {
        "HZ3_DECAY=500",         "HZ3_DECAY=500ms",       "HZ3_DECAY=0",
        "HZ3_THP=always",        "HZ3_THP=never",         "HZ3_THP=default",
        "HZ3_SOFT_LIMIT=1G",     "HZ3_SOFT_LIMIT=512M",   "HZ3_WINDOW=64M",
        "HZ3_HEAPS=3",           "HZ3_BACKGROUND=0",      "HZ3_BACKGROUND=1",
        "HZ3_THREAD_CACHE=256K", "HZ3_TRANSFER_CACHE=8M", "HZ3_FOREIGN_FREE=abort",
        "HZ3_FOREIGN_FREE=libc", "HZ3_STATS=0",           "HZ3_VERBOSE=0",
        "HZ3_SOFT_LIMIT=auto",   "HZ3_RETAIN=1g",         "HZ3_RETAIN=auto",
        "HZ3_RETAIN_SHARE=5",    "HZ3_RETAIN_SHARE=5%",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) CHECK(*said_with(good[i], NULL) == 0);
}

static void names_every_option_and_its_source(void)
{
    const char *said = said_with("HZ3_VERBOSE=1", "HZ3_DECAY=250");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CHECK(strstr(said, names[i]) != NULL);
        bool set = strcmp(names[i], "HZ3_VERBOSE") == 0 || strcmp(names[i], "HZ3_DECAY") == 0;
        CHECK(line_has(said, names[i], set ? "environment" : "default"));
    }
    CHECK(line_has(said, "HZ3_DECAY", "250"));
    CHECK(line_has(said, "HZ3_THP=default", " = default "));
    CHECK(line_has(said, "HZ3_FOREIGN_FREE=abort", " = abort "));
    said = said_with("HZ3_VERBOSE=1", "HZ3_SOFT_LIMIT=0");
    CHECK(line_has(said, "HZ3_SOFT_LIMIT=0", " = none "));
    said = said_with("HZ3_VERBOSE=1", "HZ3_THP=never");
    CHECK(line_has(said, "HZ3_THP=never", " = never (environment)"));
}

static void prints_statistics_at_exit(void)
{
    static const char *const words[] = {"allocated", "active", "resident", "mapped", "retained", "metadata"};
    const char *said = said_with("HZ3_STATS=1", NULL);
    CHECK(strncmp(said, "hz3: [", strlen("hz3: [")) == 0 && strstr(said, "] stats (bytes):") != NULL);
    for (size_t i = 0; i < COUNT_OF(words); i++) CHECK(strstr(said, words[i]) != NULL);
    CHECK(line_has(said, "] refills by source", "fresh_run="));
}

/* Folders within each other, beginning with one of /tmp. */
static void go_down(char top[], int levels, const char *name)
{
    CHECK(mkdtemp(top) != NULL && chdir(top) == 0);
    for (int i = 0; i < levels; i++) CHECK(mkdir(name, 0700) == 0 && chdir(name) == 0);
}

static void go_up(const char *top, int levels, const char *name)
{
    for (int i = 0; i < levels; i++) CHECK(chdir("..") == 0 && rmdir(name) == 0);
    CHECK(chdir("/") == 0 && rmdir(top) == 0);
}

/* libc's getcwd allocates where the kernel has no path of the folder, or one too long for it. */
static void starts_in_a_deep_folder(void)
{
    static const int depths[] = {3, 25};
    char name[201], written[1300];
    memset(name, 'd', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    for (size_t i = 0; i < COUNT_OF(depths); i++) {
        char top[] = "/tmp/hz3-deep-XXXXXX";
        go_down(top, depths[i], name);
        const char *said = said_with("HZ3_STATS=explain", NULL), *explain = strstr(said, "] hz3 explain ");
        CHECK((strstr(said, "so this goes to that of its time: hz3.%p\n") != NULL) == (depths[i] > 3));
        CHECK(strstr(said, "cannot write") == NULL);
        CHECK(explain != NULL && sscanf(explain, "] hz3 explain %1299s says", written) == 1);
        CHECK((*written == '/') == (depths[i] == 3) && unlink(written) == 0);
        go_up(top, depths[i], name);
    }
}

enum { BUSY_ROUNDS = 1000, BUSY_OBJECTS = 40 }; /* more objects than one magazine holds, and fewer than two */

static void be_busy(void)
{
    void *objects[BUSY_OBJECTS];
    for (int round = 0; round < BUSY_ROUNDS; round++) {
        for (int i = 0; i < BUSY_OBJECTS; i++) objects[i] = forget(malloc(100));
        for (int i = 0; i < BUSY_OBJECTS; i++) free(objects[i]);
    }
}

/* The busy program's objects come first from fresh runs, in lane secure for two rounds, and then from the two
 * magazines that it filled. */
static void says_where_refills_came_from(void)
{
    struct program_run run = run_program((const char *const[]){"/proc/self/exe", "busy", NULL},
                                         (const char *const[]){"HZ3_STATS=1", NULL}, 10);
    unsigned long swap, fresh_run;
    const char *refills = strstr(run.err, "] refills by source");
    CHECK(refills != NULL && strstr(refills, " swap=") != NULL && strstr(refills, " fresh_run=") != NULL);
    CHECK(sscanf(strstr(refills, " swap="), " swap=%lu", &swap) == 1);
    CHECK(sscanf(strstr(refills, " fresh_run="), " fresh_run=%lu", &fresh_run) == 1);
    CHECK(swap >= BUSY_ROUNDS - 1 - SECURE && fresh_run >= 1 && fresh_run < BUSY_ROUNDS);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "busy") == 0) return be_busy(), 0;
    if (argc == 2) {
        free(forget(malloc(strlen(argv[1]))));
        return 0;
    }
    is_silent_by_default();
    warns_of_what_it_does_not_know();
    says_which_range_it_takes();
    ends_a_warning_that_is_cut_off();
    accepts_good_values();
    names_every_option_and_its_source();
    prints_statistics_at_exit();
    starts_in_a_deep_folder();
    says_where_refills_came_from();
}
