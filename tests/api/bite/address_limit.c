/* Proves that hz3 starts and works under RLIMIT_AS, says ENOMEM when it is reached, threads included, and has
 * everything back once memory is freed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "support.h"

/* Blocks of one size, each holding the address of the one before it. */
struct chain {
    void *last;
    size_t bytes;
};

static struct chain exhaust(size_t size)
{
    struct chain chain = {NULL, 0};
    void *p;
    errno = 0;
    while ((p = malloc(size)) != NULL) {
        memset(p, 1, size);
        memcpy(p, &chain.last, sizeof(p));
        chain.last = p;
        chain.bytes += size;
    }
    CHECK(errno == ENOMEM);
    return chain;
}

static size_t release(struct chain chain)
{
    for (void *p = chain.last, *before; p != NULL; p = before) {
        memcpy(&before, p, sizeof(before));
        errno = 4321;
        free(p);
        CHECK(errno == 4321);
    }
    return chain.bytes;
}

static pthread_barrier_t exhausted;

/* Its first calls come when nothing is left, for its own cache neither. */
static void *first_calls_when_exhausted(void *others_block)
{
    pthread_barrier_wait(&exhausted);
    free(others_block);
    errno = 0;
    void *p = malloc(40000);
    CHECK(p != NULL || errno == ENOMEM);
    free(p);
    return NULL;
}

static pthread_t start_small_thread(void *arg)
{
    pthread_t thread;
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, KIB(64)) == 0);
    CHECK(pthread_create(&thread, &attributes, first_calls_when_exhausted, arg) == 0);
    return thread;
}

static void live_under(size_t limit)
{
    size_t at_least = limit / 8;
    CHECK(pthread_barrier_init(&exhausted, NULL, 2) == 0);
    pthread_t thread = start_small_thread(malloc(100));
    struct chain all = exhaust(1000);
    pthread_barrier_wait(&exhausted);
    join_thread(thread);
    size_t small = release(all);
    CHECK(small >= at_least);
    CHECK(release(exhaust(1000)) >= small / 10 * 9);
    for (int round = 0; round < 4; round++) {
        CHECK(release(exhaust(30000)) >= at_least);
        CHECK(release(exhaust(KIB(300))) >= at_least);
        CHECK(release(exhaust(1000)) >= small / 2); /* address space may be cut up now, but not lost */
    }
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        live_under(strtoul(argv[1], NULL, 10));
        return 0;
    }
    static const size_t limits[] = {MIB(64), MIB(16)};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        char text[24];
        snprintf(text, sizeof(text), "%zu", limits[i]);
        CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){limits[i], limits[0]}) == 0);
        struct program_run run =
            run_program((const char *const[]){"/proc/self/exe", text, NULL}, (const char *const[]){NULL}, 20);
        fputs(run.err, stderr);
        CHECK(WIFEXITED(run.status) && WEXITSTATUS(run.status) == 0);
    }
}
