/* Threads sleep in a signal handler that interrupted them anywhere, in malloc and free, too, as collectors stop
 * threads. Meanwhile memory goes back.  Each gets a block that nobody else has when it goes on.
 *
 * asleep coroutine: the handler leaves a coroutine there, and the thread sleeps on its own stack.  asleep child: what
 * is interrupted is a process that has the thread's memory, and that the thread waits for. */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "support.h"

enum {
    THREADS = 24,
    ROUNDS = 2,
    SIZE = 512,
    WARM = 300,
    HELD = 5000,
    BURST = 20000,
    BURST_SIZE = 2000,
    PAGE = 4096,
    HANDLERS = 4 * PAGE,
    STACK = 10 * PAGE
};

static atomic_int asleep, may_wake; /* may_wake: the last round whose sleepers may go on */
static atomic_bool stop;
static atomic_long passes[THREADS]; /* of each thread's loop */
static _Thread_local int round_here;
static pid_t child[THREADS]; /* asleep child */

static void sleep_here(int signal)
{
    (void)signal;
    round_here++;
    asleep++;
    while (may_wake < round_here) sleep_for(0.1);
}

static void take_and_free(void **block, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        CHECK((block[i] = malloc(size)));
        fill(block[i], size, i);
    }
    for (size_t i = 0; i < count; i++) free(block[i]);
}

/* | the handler's stack | a page that cannot be read | the thread's stack |, as small stacks may happen to lie */
static char stacks[THREADS][HANDLERS + PAGE + STACK] __attribute__((aligned(PAGE)));

static char elsewhere[THREADS][STACK] __attribute__((aligned(PAGE)));

static void allocate(uintptr_t number)
{
    atomic_long *passed = &passes[number];
    void *warm[WARM];
    take_and_free(warm, WARM, SIZE);
    while (!stop) {
        uint64_t *p = malloc(SIZE), id = (uintptr_t)&warm;
        CHECK(p != NULL);
        *p = id;
        forget(p);
        CHECK(*p == id);
        free(p);
        ++*passed;
    }
}

static void *work(void *number)
{
    const stack_t handlers = {.ss_sp = stacks[(uintptr_t)number], .ss_size = HANDLERS};
    if ((uintptr_t)number % 4 == 0) CHECK(sigaltstack(&handlers, NULL) == 0);
    allocate((uintptr_t)number);
    return NULL;
}

#ifdef __GLIBC__ /* musl has no coroutines */
static _Thread_local ucontext_t scheduler, coroutine;
static _Thread_local uintptr_t number_here;

static void leave_coroutine(int signal)
{
    (void)signal;
    swapcontext(&coroutine, &scheduler);
}

static void run_coroutine(void)
{
    allocate(number_here);
}

static void *schedule(void *number)
{
    number_here = (uintptr_t)number;
    CHECK(getcontext(&coroutine) == 0);
    coroutine.uc_stack = (stack_t){.ss_sp = elsewhere[number_here], .ss_size = STACK};
    coroutine.uc_link = &scheduler;
    makecontext(&coroutine, run_coroutine, 0);
    while (!stop) {
        CHECK(swapcontext(&scheduler, &coroutine) == 0);
        if (!stop) sleep_here(SIGUSR1);
    }
    return NULL;
}
#endif

static int be_child(void *number)
{
    child[(uintptr_t)number] = getpid();
    allocate((uintptr_t)number);
    return 0;
}

static void *wait_for_child(void *number)
{
    int status;
    pid_t made = clone(be_child, elsewhere[(uintptr_t)number] + STACK, CLONE_VM | SIGCHLD, number);
    CHECK(made > 0 && waitpid(made, &status, 0) == made && status == 0);
    return NULL;
}

/* Afterwards none is in a slow path, which may hold a lock. */
static void wait_until_each_goes_on(void)
{
    for (int i = 0; i < THREADS; i++)
        for (long before = passes[i]; passes[i] < before + 10;) sleep_for(0.001);
}

static pthread_t start(void *(*body)(void *), uintptr_t number)
{
    pthread_t thread;
    pthread_attr_t attributes;
    char *stack = stacks[number] + HANDLERS + PAGE;
    CHECK(mprotect(stack - PAGE, PAGE, PROT_NONE) == 0);
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, STACK) == 0);
    CHECK(pthread_create(&thread, &attributes, body, (void *)number) == 0);
    return thread;
}

static void interrupt(pthread_t thread, int number)
{
    CHECK((child[number] ? kill(child[number], SIGUSR1) : pthread_kill(thread, SIGUSR1)) == 0);
}

int main(int argc, char **argv)
{
    static void *held[HELD], *burst[BURST];
    pthread_t thread[THREADS];
    void *(*body)(void *) = work;
    struct sigaction action = {.sa_handler = sleep_here, .sa_flags = SA_RESTART | SA_ONSTACK};
    if (argc > 1 && strcmp(argv[1], "child") == 0) body = wait_for_child;
    if (argc > 1 && strcmp(argv[1], "coroutine") == 0) {
#ifdef __GLIBC__
        body = schedule;
        action.sa_handler = leave_coroutine;
#else
        return 77;
#endif
    }
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    for (uintptr_t i = 0; i < THREADS; i++) thread[i] = start(body, i);
    for (int round = 1; round <= ROUNDS; round++) {
        wait_until_each_goes_on();
        for (int i = 0; i < THREADS; i++) interrupt(thread[i], i);
        while (asleep < round * THREADS) sleep_for(0.01);
        take_and_free(burst, BURST, BURST_SIZE);
        sleep_for(1.5);
        for (size_t i = 0; i < HELD; i++) {
            CHECK((held[i] = malloc(SIZE)));
            fill(held[i], SIZE, i);
        }
        may_wake = round;
        wait_until_each_goes_on();
        for (size_t i = 0; i < HELD; i++) {
            CHECK(is_filled(held[i], SIZE, i));
            free(held[i]);
        }
    }
    stop = true;
    for (int i = 0; i < THREADS; i++) join_thread(thread[i]);
}
