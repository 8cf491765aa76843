/* Proves that a program with one thread keeps one, and that its memory goes back all the same though it makes no
 * further call: whatever it freed, in whatever order.  Nothing of that can be seen: no thread, descriptor, child or
 * signal.  A program that takes and frees the same memory again and again does not pay for that each time. */
#include <stdio.h>
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>

#include "support.h"

enum { BURST = 200, LEFT = 5, SLACK = 2 }; /* MiB; percent of the burst that may stay; MiB beside that */

static void **block;
static size_t count;

static size_t entries(const char *folder)
{
    size_t found = 0;
    DIR *dir = opendir(folder);
    CHECK(dir != NULL);
    while (readdir(dir)) found++;
    closedir(dir);
    return found;
}

static void take(size_t mib, size_t (*size_of)(size_t))
{
    for (size_t bytes = count = 0; bytes < MIB(mib); bytes += size_of(count++)) {
        CHECK((block[count] = malloc(size_of(count))) != NULL);
        memset(block[count], 1, size_of(count));
    }
}

static void release(void)
{
    for (size_t i = 0; i < count; i++) free(block[i]);
}

static void shuffle(void)
{
    uint64_t random = 1;
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = next_random(&random) % (i + 1);
        void *p = block[i];
        block[i] = block[j];
        block[j] = p;
    }
}

static size_t of_2000(size_t i)
{
    (void)i;
    return 2000;
}

static size_t of_any_size(size_t i)
{
    return i % 4000 ? 16 + i * 37 % 3000 : MIB(1);
}

static size_t of_large_blocks(size_t i)
{
    return KIB(100) + i * KIB(37) % MIB(3);
}

static void enter_namespace(void *unused)
{
    (void)unused;
    if (unshare(CLONE_NEWUSER)) _Exit(1);
}

static bool may_enter_namespace(void)
{
    int status;
    pid_t child = in_child(enter_namespace, NULL);
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void burst(size_t (*size_of)(size_t), bool in_order)
{
    size_t files = entries("/proc/self/fd"), before = resident_bytes();
    sigset_t none;
    take(BURST, size_of);
    size_t peak = resident_bytes();
    CHECK(peak - before > MIB(BURST) * 9 / 10);
    if (!in_order) shuffle();
    release();
    size_t after = resident_bytes();
    printf("%zu of %zu MiB stay\n", (after - before) >> 20, (peak - before) >> 20);
    fflush(stdout);
    CHECK(after <= before + (peak - before) * LEFT / 100 + MIB(SLACK));
    sleep_for(0.5);
    CHECK(entries("/proc/self/task") == 3); /* with . and .. */
    CHECK(__libc_single_threaded);
    CHECK(entries("/proc/self/fd") == files);
    CHECK(sigpending(&none) == 0 && sigisemptyset(&none));
    CHECK(waitpid(-1, NULL, WNOHANG) < 0);
}

static void small(void)
{
    burst(of_2000, true);
    sleep_for(1.5);
    burst(of_2000, true); /* it slept in between, so this goes back, too */
}

static void any_order(void)
{
    burst(of_2000, false);
}

static void any_size(void)
{
    burst(of_any_size, true);
}

static void large(void)
{
    burst(of_large_blocks, true);
}

static void user_namespace(void)
{
    bool may = may_enter_namespace();
    burst(of_2000, true);
    if (!may) skip_test("no user namespace may be made here");
    CHECK(unshare(CLONE_NEWUSER) == 0);
}

static size_t faults(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return (size_t)usage.ru_minflt;
}

/* Each page may go back once, and then as many as a hundredth of the time pays for: a tenth of a wave at most, where a
 * fault takes a µs. */
static void waves(void)
{
    enum { WAVES = 100, MIBS = 24, MOST = 20 };
    take(MIBS, of_2000);
    release();
    size_t before = faults();
    for (int i = 0; i < WAVES; i++) {
        take(MIBS, of_2000);
        release();
    }
    CHECK((faults() - before) * 4096 < MOST * MIB(MIBS));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"small", small}, {"any_order", any_order},           {"any_size", any_size},
        {"large", large}, {"user_namespace", user_namespace}, {"waves", waves},
    };
    static void *blocks[MIB(BURST) / 1000];
    memset(blocks, 1, sizeof blocks);
    block = blocks;
    CHECK(argc == 2);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    CHECK(!"a case of that name");
}
