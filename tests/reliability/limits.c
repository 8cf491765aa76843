/* Proves that under any limit hz3 serves requests that fit, and refuses others.  The limits are twelve of address
 * space, stacks of the process and its threads, the number of processes and threads, and locked memory.
 *
 *     limits ADDRESS_LIMIT [MOST]     the program tests/api/bite/address_limit, and the largest limit in MiB */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "churn.h"
#include "hardship.h"
#include "support.h"

enum { LARGEST = MIB(4), NOBODY = 65534, PATIENCE = 60, SKIPPED = 77 };

static size_t tried;

/* A program that is skipped is not counted.  Returns false if it failed. */
static bool run(const char *const argv[])
{
    struct program_run run = run_program(argv, (const char *const[]){NULL}, PATIENCE);
    bool skipped = WIFEXITED(run.status) && WEXITSTATUS(run.status) == SKIPPED;
    fputs(run.err, stderr);
    tried += !skipped;
    return skipped || run.status == 0;
}

static void run_limited(int resource, size_t limit, const char *const argv[])
{
    struct rlimit before, now;
    CHECK(getrlimit(resource, &before) == 0);
    now = (struct rlimit){limit, before.rlim_max};
    CHECK(setrlimit(resource, &now) == 0);
    bool held = run(argv);
    CHECK(setrlimit(resource, &before) == 0);
    if (!held) dprintf(STDERR_FILENO, "%s under %zu bytes\n", argv[0], limit);
    CHECK(held);
}

static void with_little_address_space(const char *program, size_t most)
{
    static const size_t sizes[] = {16, 20, 24, 32, 40, 48, 64, 96, 128, 256, 512, 1024};
    for (size_t i = 0; i < COUNT_OF(sizes) && sizes[i] <= most; i++) {
        char bytes[24];
        snprintf(bytes, sizeof(bytes), "%zu", MIB(sizes[i]));
        run_limited(RLIMIT_AS, MIB(sizes[i]), (const char *const[]){program, "64_mib", bytes, NULL});
    }
}

/* ---- stacks ---- */

/* Makes calls that need little stack themselves. */
static void *use_little_stack(void *unused)
{
    for (size_t size = 1; size < MIB(2); size += size / 2 + 1) {
        void *p = malloc(size), *q = calloc(1, size), *r = aligned_alloc(64, size);
        CHECK(p != NULL && q != NULL && r != NULL);
        fill_sparsely(p, size, KIB(4), size);
        p = realloc(p, 2 * size);
        CHECK(p != NULL && is_filled_sparsely(p, size, KIB(4), size, size));
        free(p);
        free(q);
        free(r);
    }
    malloc_trim(0);
    return unused;
}

static void with_the_least_stack(void)
{
    pthread_attr_t attributes;
    pthread_t threads[8];
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) == 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        CHECK(pthread_create(&threads[i], &attributes, use_little_stack, NULL) == 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) join_thread(threads[i]);
    tried++;
}

/* The process starts with this limit, which is for the main thread and, by default, for others. */
static int live_with_little_stack(void)
{
    use_little_stack(NULL);
    join_thread(start_thread(use_little_stack, NULL));
    return 0;
}

/* ---- processes ---- */

static void give_back_by_oneself(void)
{
    enum { BLOCKS = 50000, BYTES = 1000 };
    static void *p[BLOCKS];
    size_t before = resident_bytes();
    for (size_t i = 0; i < BLOCKS; i++) {
        CHECK((p[i] = malloc(BYTES)) != NULL);
        memset(p[i], 1, BYTES);
    }
    for (size_t i = 0; i < BLOCKS; i++) free(p[i]);
    for (double until = now() + 10; resident_bytes() > before + MIB(10) && now() < until; sleep_for(0.001)) {
        for (size_t i = 0; i < 200; i++) p[i] = malloc(64);
        for (size_t i = 0; i < 200; i++) free(p[i]);
    }
    CHECK(resident_bytes() <= before + MIB(10));
}

static void live_alone(void *unused)
{
    struct rlimit limit;
    (void)unused;
    if (geteuid() == 0) CHECK(setgid(NOBODY) == 0 && setuid(NOBODY) == 0); /* root is not limited */
    CHECK(getrlimit(RLIMIT_NPROC, &limit) == 0);
    CHECK(setrlimit(RLIMIT_NPROC, &(struct rlimit){0, limit.rlim_max}) == 0);
    CHECK(fork() == -1 && errno == EAGAIN);
    CHECK(endure(LARGEST) == 1); /* it cannot start its thread */
    give_back_by_oneself();
    CHECK(status_number("Threads:") == 1);
    CHECK(setrlimit(RLIMIT_NPROC, &limit) == 0);
    CHECK(endure(LARGEST) == 0);
}

/* ---- locked ---- */

static int live_locked(void)
{
    struct busy busy[2];
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        CHECK(errno == ENOMEM || errno == EPERM);
        skip_test("mlockall is not permitted here (RLIMIT_MEMLOCK)");
    }
    for (size_t i = 0; i < COUNT_OF(busy); i++) busy_start(&busy[i]);
    CHECK(endure(LARGEST) == 0);
    for (size_t i = 0; i < COUNT_OF(busy); i++) busy_stop(&busy[i]);
    CHECK(munlockall() == 0);
    CHECK(endure(LARGEST) == 0);
    return 0;
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    if (strcmp(argv[1], "stack") == 0) return live_with_little_stack();
    if (strcmp(argv[1], "locked") == 0) return live_locked();
    with_little_address_space(argv[1], argc > 2 ? strtoul(argv[2], NULL, 10) : 64);
    with_the_least_stack();
    for (size_t stack = 64; stack <= 256; stack *= 2)
        run_limited(RLIMIT_STACK, KIB(stack), (const char *const[]){"/proc/self/exe", "stack", NULL});
    expect_success(in_child(live_alone, NULL), PATIENCE);
    tried++;
    CHECK(run((const char *const[]){"/proc/self/exe", "locked", NULL}));
    printf("tried=%zu held=%zu\n", tried, tried);
}
