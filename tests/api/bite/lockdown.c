/* Proves that after its start hz3 makes no system calls but mmap, munmap, mremap, madvise, mprotect and futex, whatever
 * is allocated and given back.  So a program may forbid others, for one thread or for all. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gate.h"
#include "support.h"

enum { LIVE = 160 }; /* 200 MiB, all given back in each round */

static const int allowed[] = {SYS_mmap, SYS_munmap, SYS_mremap, SYS_madvise,    SYS_mprotect,    SYS_futex,
                              SYS_read, SYS_write,  SYS_exit,   SYS_exit_group, SYS_rt_sigreturn};

static void take_and_give_back(void)
{
    void *live[LIVE];
    for (size_t round = 0; round < 4; round++) {
        for (size_t i = 0; i < LIVE; i++) {
            size_t size = ((size_t)24 << i % 17) + i;
            live[i] = i % 3 == 0 ? malloc(size) : i % 3 == 1 ? calloc(1, size) : aligned_alloc(4096, size);
            CHECK(live[i] != NULL);
            live[i] = realloc(live[i], 2 * size);
            CHECK(live[i] != NULL);
            fill(live[i], 2 * size, i);
        }
        for (size_t i = 0; i < LIVE; i++) {
            CHECK(is_filled(live[i], 2 * (((size_t)24 << i % 17) + i), i));
            free(live[i]);
        }
        malloc_trim(0);
    }
}

/* The filter is set while the program is running, when the allocator may have started a thread. */
static void in_use(void *all_threads)
{
    void *burst[100];
    for (size_t i = 0; i < COUNT_OF(burst); i++) {
        burst[i] = malloc(MIB(1));
        CHECK(burst[i] != NULL);
        fill(burst[i], MIB(1), i);
    }
    for (size_t i = 0; i < COUNT_OF(burst); i++) free(burst[i]);
    sleep_for(0.1);
    gate_allow_only(allowed, COUNT_OF(allowed), all_threads != NULL);
    take_and_give_back();
    double until = now() + 1.5;
    while (now() < until) /* idle memory goes back meanwhile; the filter does not allow to sleep */
        free(malloc(1000));
}

static void before_anything_was_freed(void *all_threads)
{
    free(malloc(1));
    gate_allow_only(allowed, COUNT_OF(allowed), all_threads != NULL);
    take_and_give_back();
}

static pthread_barrier_t locked;
static size_t done;

/* Must not return, as the end of a thread makes other system calls. */
static void *beside_others(void *arg)
{
    pthread_barrier_wait(&locked); /* so does its start, which is over here */
    pthread_barrier_wait(&locked);
    take_and_give_back();
    __atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
    for (;;) pthread_barrier_wait(&locked);
    return arg;
}

static void in_threads(void *arg)
{
    enum { THREADS = 3 };
    (void)arg;
    CHECK(pthread_barrier_init(&locked, NULL, THREADS + 1) == 0);
    for (size_t i = 0; i < THREADS; i++) start_thread(beside_others, NULL);
    pthread_barrier_wait(&locked);
    gate_allow_only(allowed, COUNT_OF(allowed), true);
    pthread_barrier_wait(&locked);
    take_and_give_back();
    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < THREADS);
}

int main(int argc, char **argv)
{
    void *all_threads = argc == 2 && strcmp(argv[1], "all_threads") == 0 ? argv : NULL;
    expect_success(in_child(before_anything_was_freed, all_threads), 30);
    expect_success(in_child(in_use, all_threads), 30);
    if (all_threads) expect_success(in_child(in_threads, NULL), 30);
}
