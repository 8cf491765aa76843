/* Proves that a program with more rights than its user ignores the user's HZ3_* variables.  It runs a copy of itself
 * that is set-group-ID.  The loader ignores LD_PRELOAD there, so the program is linked with hz3. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { OTHER_GROUP = 65534, INSECURE = 3 };

static struct program_run probe(const char *path)
{
    struct program_run run =
        run_program((const char *const[]){path, "probe", NULL},
                    (const char *const[]){"HZ3_VERBOSE=1", "HZ3_STATS=1", "HZ3_SECRET=1", NULL}, 10);
    CHECK(WIFEXITED(run.status));
    return run;
}

/* Copies this program to `out`.  Returns false if it could not be made set-group-ID. */
static bool copy_self(int out)
{
    struct stat self;
    int in = open("/proc/self/exe", O_RDONLY);
    CHECK(in >= 0 && out >= 0 && fstat(in, &self) == 0);
    CHECK(sendfile(out, in, NULL, (size_t)self.st_size) == self.st_size);
    bool made = fchown(out, (uid_t)-1, OTHER_GROUP) == 0 && fchmod(out, 02755) == 0;
    close(in);
    close(out);
    return made;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "probe") == 0) {
        free(forget(malloc(100)));
        return getauxval(AT_SECURE) ? 0 : INSECURE;
    }
    struct program_run plain = probe("/proc/self/exe");
    CHECK(WEXITSTATUS(plain.status) == INSECURE);
    CHECK(strstr(plain.err, "hz3: option HZ3_VERBOSE=1") != NULL && strstr(plain.err, "] stats") != NULL);
    CHECK(strstr(plain.err, "HZ3_SECRET=1") != NULL);

    char path[] = "/tmp/hz3-secure-XXXXXX";
    bool made = copy_self(mkstemp(path));
    struct program_run secure = made ? probe(path) : plain;
    unlink(path);
    if (!made) skip_test("only root can make a set-group-ID program");
    if (WEXITSTATUS(secure.status) == INSECURE) skip_test("set-group-ID has no effect in /tmp here");
    CHECK(WEXITSTATUS(secure.status) == 0);
    CHECK(secure.err[0] == 0);
}
