/* Proves that a request without memory for it is refused, and does not search without end, if the system takes one free
 * block back but refuses another. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gate.h"
#include "support.h"

static const size_t big = MIB(10);
static char *refused;

static bool is_refused(const char *at)
{
    return refused && at >= refused && at < refused + big;
}

/* These two replace libc's. */
int madvise(void *at, size_t bytes, int advice)
{
    if (!is_refused(at)) return (int)syscall(SYS_madvise, at, bytes, advice);
    errno = EINVAL;
    return -1;
}

int munmap(void *at, size_t bytes)
{
    if (!is_refused(at)) return (int)syscall(SYS_munmap, at, bytes);
    errno = ENOMEM;
    return -1;
}

static char *take(size_t size)
{
    char *p = malloc(size);
    CHECK(p != NULL);
    fill(p, size, 1);
    return p;
}

static void run(void *unused)
{
    static const int calls[] = {SYS_mmap, SYS_mprotect};
    (void)unused;
    char *kept = take(big), *between = take(MIB(1)), *given = take(big), *after = take(MIB(1));
    gate_refuse(calls, COUNT_OF(calls), ENOMEM);
    refused = kept;
    free(kept);
    free(given);
    CHECK(forget(malloc(MIB(64))) == NULL && errno == ENOMEM);
    for (int i = 0; i < 2; i++) take(big - MIB(1));
    free(between);
    free(after);
}

int main(void)
{
    expect_success(in_child(run, NULL), 10);
}
