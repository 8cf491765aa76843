/* Proves that what glibc does at a thread's end is safe.  It frees the table of the thread's TLS blocks, either in the
 * thread itself after its destructors, or in a join of another thread, under the lock that creating a thread takes. */
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gate.h"
#include "support.h"

enum { CROWD = 600, BLOCKS = 1200, BLOCK_BYTES = 60000 };

static void *blocks[BLOCKS];
static pthread_barrier_t crowd_ends;

static void *say_nothing(void *arg)
{
    return arg;
}

static void *allocate(void *arg)
{
    free(malloc(100));
    return arg;
}

static void allocate_and_leave(void *arg)
{
    allocate(arg);
}

/* The thread's only call is the free of memory that the loader allocated for it. */
static void a_thread_that_says_nothing_leaves_nothing(void)
{
    for (int i = 0; i < 3; i++) {
        void *stack = mmap(NULL, MIB(1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_attr_t attributes;
        pthread_t thread;
        CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, MIB(1)) == 0);
        CHECK(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
        CHECK(pthread_create(&thread, &attributes, say_nothing, NULL) == 0);
        while (status_number("Threads:") > 1) sleep_for(0.01);
        CHECK(mprotect(stack, MIB(1), PROT_NONE) == 0);
        join_thread(start_thread(allocate, NULL));
        expect_success(in_child(allocate_and_leave, NULL), 10);
    }
}

static pthread_key_t key;

/* Runs after hz3's own destructors.  It frees too little for a slow path that looks how much is to go back. */
static void free_some(void *some)
{
    pthread_barrier_wait(&crowd_ends);
    for (int i = 0; i < BLOCKS / CROWD; i++) free(((void **)some)[i]);
}

static void *end_with_the_crowd(void *some)
{
    allocate(NULL);
    CHECK(pthread_setspecific(key, some) == 0);
    return NULL;
}

/* glibc keeps fewer stacks.  Each further join frees one under glibc's lock, while much memory is to go back, for which
 * hz3 would start its background thread. */
static void joining_starts_no_thread(void)
{
    pthread_t crowd[CROWD];
    CHECK(pthread_key_create(&key, free_some) == 0);
    for (int i = 0; i < BLOCKS; i++) {
        CHECK((blocks[i] = malloc(BLOCK_BYTES)) != NULL);
        fill(blocks[i], BLOCK_BYTES, 1);
    }
    CHECK(pthread_barrier_init(&crowd_ends, NULL, CROWD) == 0);
    for (int i = 0; i < CROWD; i++) crowd[i] = start_thread(end_with_the_crowd, &blocks[i * (BLOCKS / CROWD)]);
    for (int i = 0; i < CROWD; i++) join_thread(crowd[i]);
}

/* The last free before this was the loader's, under its lock.  Shrinking still has to start the background thread. */
static void what_is_shrunk_then_goes_home(void)
{
    void *p = malloc(MIB(100));
    CHECK(p != NULL);
    fill(p, MIB(100), 1);
    CHECK((p = realloc(p, MIB(1))) != NULL);
    double until = now() + 10;
    while (resident_bytes() > MIB(50) && now() < until) sleep_for(0.02);
    CHECK(resident_bytes() <= MIB(50));
    free(p);
}

static void at_exit(void)
{
    char frame[KIB(200)];
    sigset_t blocked;
    memset(forget(frame), 1, sizeof frame);
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && !sigismember(&blocked, SIGTERM));
}

/* Enough memory is to go back that hz3 has started its background thread. */
static void leave_main(void *sandboxed)
{
    void *p[64];
    CHECK(atexit(at_exit) == 0);
    for (size_t i = 0; i < COUNT_OF(p); i++) {
        CHECK((p[i] = malloc(MIB(1))) != NULL);
        fill(p[i], MIB(1), i);
    }
    for (size_t i = 0; i < COUNT_OF(p); i++) free(p[i]);
    CHECK(status_number("Threads:") == 2);
    if (sandboxed) gate_forbid(&(const int){SYS_clone}, 1, true);
    pthread_exit(NULL);
}

/* The process ends when only hz3's thread is left.  That thread then runs the exit handlers, which need a usual stack
 * and signal mask. */
static void a_process_ends_without_its_main_thread(void)
{
    expect_success(in_child(leave_main, NULL), 10);
    expect_success(in_child(leave_main, at_exit), 10);
}

static const char *loader(void)
{
    const ElfW(Phdr) *header = (const ElfW(Phdr) *)getauxval(AT_PHDR), *segment = header;
    while (segment->p_type != PT_INTERP) segment++;
    return (const char *)header - header->p_vaddr + segment->p_vaddr; /* the first entry describes the table itself */
}

/* by_loader: starts the program as the loader's argument.  Then the kernel does not tell where the loader is. */
int main(int argc, char **argv)
{
    if (argc > 1) {
        execl(loader(), "loader", argv[0], (char *)NULL);
        return 1;
    }
    a_thread_that_says_nothing_leaves_nothing();
    joining_starts_no_thread();
    what_is_shrunk_then_goes_home();
    a_process_ends_without_its_main_thread();
    return 0;
}
