/* Proves that impossible requests are cheap.  A size beyond the address space needs no system call.  Repeated requests
 * that do not fit do not search for memory while nothing is freed, nor each time that a little is.  Memory that any
 * thread frees meanwhile is available to the next request. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support.h"

enum {
    SMALL = 1000,
    TIMES = 1000,
    LIMIT = 256,
    MAPS = SECURE ? 5 : 2, /* lane secure also tries a hole that guards left, and a whole plot before one run */
    RUN = 64 << 10,
};

static unsigned mapped, advised;

/* These replace libc's. */
void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    mapped++;
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

int madvise(void *at, size_t bytes, int advice)
{
    advised++;
    return (int)syscall(SYS_madvise, at, bytes, advice);
}

static void refuse(size_t size)
{
    errno = 0;
    CHECK(forget(malloc(size)) == NULL && errno == ENOMEM);
}

static void *last; /* the end of a chain of small blocks */

static void fill_up(void)
{
    for (void **p; (p = malloc(SMALL)) != NULL; last = p) *p = last;
}

static void free_some(void)
{
    for (size_t freed = 0; freed < MIB(16); freed += SMALL) {
        void **p = last;
        last = *p;
        free(p);
    }
}

/* A search would map, or advise, once more.  There may be one a second. */
static void while_nothing_is_freed(void)
{
    double searched = now();
    refuse(MIB(1));
    mapped = advised = 0;
    unsigned calls = 0;
    for (double begun = now(); now() < begun + 0.3; calls++) refuse(calls % 2 ? SMALL : MIB(1));
    unsigned searches = (unsigned)(now() - searched + 0.1);
    CHECK(mapped <= MAPS * (calls + searches) && advised <= 10 * searches);
}

static void while_little_is_freed(void)
{
    mapped = advised = 0;
    double before = now();
    for (unsigned i = 0; i < TIMES; i++) {
        void **p = last;
        last = *p;
        free(p);
        refuse(MIB(1));
        CHECK((p = malloc(SMALL)) != NULL);
        *p = last;
        last = p;
    }
    unsigned searches = 2 + (unsigned)((now() - before) / 0.01);
    if (!SECURE) CHECK(mapped <= MAPS * (TIMES + searches) && advised <= 10 * searches);
}

/* A run lies within any two runs' worth of neighbours, and a size of another class needs a whole one. */
static void until_a_run_is_free(void)
{
    void *p;
    for (size_t freed = 0; (p = malloc(SMALL / 2)) == NULL; freed += SMALL) {
        CHECK(freed < 2 * RUN);
        void **block = last;
        last = *block;
        free(block);
    }
    free(p);
}

static pthread_barrier_t turn;

static void *free_when_asked(void *unused)
{
    pthread_barrier_wait(&turn);
    free_some();
    pthread_barrier_wait(&turn);
    return unused;
}

static void in_little_room(void *unused)
{
    (void)unused;
    CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){MIB(LIMIT), MIB(LIMIT)}) == 0);
    CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
    pthread_t other = start_thread(free_when_asked, NULL);
    fill_up();
    CHECK(ANY_MALLOC || mapped > 0);
    refuse(SMALL);
    while_nothing_is_freed();
    while_little_is_freed();
    until_a_run_is_free();
    free_some();
    void *p = malloc(MIB(1));
    CHECK(p != NULL);
    free(p);
    fill_up();
    refuse(MIB(1));
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    CHECK((p = malloc(MIB(1))) != NULL);
    free(p);
    join_thread(other);
}

static int by_address(const void *a, const void *b)
{
    const char *const *first = a, *const *second = b;
    return *first < *second ? -1 : *first > *second;
}

/* A block is freed, and right after a request for twice as much was refused, its neighbour. */
static void among_neighbours(void *unused)
{
    (void)unused;
    static char *block[LIMIT];
    size_t count = 0, pairs = 0;
    CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){MIB(LIMIT), MIB(LIMIT)}) == 0);
    while (count < LIMIT && (block[count] = malloc(MIB(1))) != NULL) count++;
    qsort(block, count, sizeof(*block), by_address);
    for (size_t i = 0; i + 1 < count; i += 2) {
        if (block[i] + MIB(1) != block[i + 1]) continue;
        free(block[i]);
        refuse(MIB(2));
        free(block[i + 1]);
        void *p = malloc(MIB(2));
        CHECK(p != NULL);
        free(p);
        for (size_t j = i; j < i + 2; j++) CHECK((block[j] = malloc(MIB(1))) != NULL);
        pairs++;
    }
    CHECK(pairs > 0);
}

int main(void)
{
    free(forget(malloc(MIB(4)))); /* it stays in the large cache */
    mapped = advised = 0;
    for (int i = 0; i < TIMES; i++) {
        refuse(PTRDIFF_MAX);
        refuse((size_t)1 << 62);
        refuse((size_t)1 << 50);
    }
    CHECK(mapped == 0 && advised == 0);
    expect_success(in_child(in_little_room, NULL), 20);
    if (!SECURE) expect_success(in_child(among_neighbours, NULL), 20); /* there freed addresses wait */
}
