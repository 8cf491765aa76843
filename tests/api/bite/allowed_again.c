/* Proves that memory which the system refused to take back for a while does not stay for ever: when it was used and
 * freed again it goes back, though no thread makes a call then. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support.h"

enum { BLOCKS = 100, PATIENCE = 30 };

static bool refusing;

/* These two replace libc's. */
int madvise(void *at, size_t bytes, int advice)
{
    if (!__atomic_load_n(&refusing, __ATOMIC_RELAXED)) return (int)syscall(SYS_madvise, at, bytes, advice);
    errno = EINVAL;
    return -1;
}

int munmap(void *at, size_t bytes)
{
    if (!__atomic_load_n(&refusing, __ATOMIC_RELAXED)) return (int)syscall(SYS_munmap, at, bytes);
    errno = ENOMEM;
    return -1;
}

static void use_much(void)
{
    static char *block[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        CHECK((block[i] = malloc(MIB(1))) != NULL);
        fill(block[i], MIB(1), i);
    }
    for (size_t i = 0; i < BLOCKS; i++) free(block[i]);
}

static void *do_nothing(void *unused)
{
    return unused;
}

/* Waits without calling malloc. */
static void await_threads(size_t threads)
{
    double until = now() + PATIENCE;
    while (status_number("Threads:") != threads && now() < until) sleep_for(0.01);
    CHECK(ANY_MALLOC || status_number("Threads:") == threads);
}

static void expect_back(size_t before)
{
    double until = now() + PATIENCE;
    while (resident_bytes() > before + MIB(BLOCKS / 10) && now() < until) sleep_for(0.02);
    CHECK(resident_bytes() <= before + MIB(BLOCKS / 10));
}

/* The system lets go of what the parent could not give back. */
static void make_one_call(void *before)
{
    free(forget(malloc(MIB(1))));
    expect_back((size_t)before);
}

int main(void)
{
    join_thread(start_thread(do_nothing, NULL)); /* a program with one thread has no background thread */
    size_t before = resident_bytes();
    __atomic_store_n(&refusing, true, __ATOMIC_RELAXED);
    use_much();
    CHECK(resident_bytes() > before + MIB(BLOCKS / 2));
    CHECK(ANY_MALLOC || status_number("Threads:") == 2);
    await_threads(1); /* the background thread gave up */
    __atomic_store_n(&refusing, false, __ATOMIC_RELAXED);
    expect_success(in_child(make_one_call, (void *)before), 2 * PATIENCE);
    use_much();
    expect_back(before);
}
