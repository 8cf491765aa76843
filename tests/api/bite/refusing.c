/* Proves that impossible requests are cheap.  A size beyond the address space needs no system call.  Repeated requests
 * that do not fit do not purge retained memory each time.  Memory that any thread frees meanwhile is available to the
 * next request. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support.h"

enum { SMALL = 1000, TIMES = 1000, LIMIT = 256 };

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
    refuse(SMALL);
    mapped = advised = 0;
    double before = now();
    for (int i = 0; i < TIMES; i++) refuse(i % 2 ? SMALL : MIB(1));
    /* Lane secure asks for a whole plot before it asks for one run. */
    unsigned searches = 2 + (unsigned)((now() - before) / 0.1);
    CHECK(mapped <= (2 + SECURE) * TIMES + 10 * searches && advised <= 10 * searches);

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

int main(void)
{
    free(forget(malloc(MIB(8)))); /* it stays in the large cache */
    mapped = advised = 0;
    for (int i = 0; i < TIMES; i++) {
        refuse(PTRDIFF_MAX);
        refuse((size_t)1 << 62);
        refuse((size_t)1 << 50);
    }
    CHECK(mapped == 0 && advised == 0);
    expect_success(in_child(in_little_room, NULL), 20);
}
