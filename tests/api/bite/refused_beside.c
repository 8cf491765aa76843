/* Proves that a request larger than all that could come back is refused at once, whatever other threads do: it gives
 * back nothing and waits for nobody, though others give back and free all the time.  A request that what they give back
 * can serve is served. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "support.h"

enum { THREADS = 4, FREES = 200, LIMIT = 1024, BLOCK = 48, MOST = 600 };

static _Thread_local unsigned mapped, given_back;

/* These replace libc's. */
void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    mapped++;
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

static atomic_bool stop, slow, begun;
static atomic_int freed;

static void take_time(size_t bytes)
{
    if (!slow || bytes < MIB(BLOCK) / 2) return;
    begun = true;
    sleep_for(0.01);
}

int madvise(void *at, size_t bytes, int advice)
{
    given_back += advice == MADV_DONTNEED;
    take_time(bytes);
    return (int)syscall(SYS_madvise, at, bytes, advice);
}

int munmap(void *at, size_t bytes)
{
    take_time(bytes);
    return (int)syscall(SYS_munmap, at, bytes);
}

/* Frees what it has touched; by the test's HZ3_RETAIN that goes back at once. */
static void *keep_freeing(void *arg)
{
    while (!stop) {
        char *p = malloc(MIB(BLOCK));
        for (size_t i = 0; p != NULL && i < MIB(BLOCK); i += KIB(16)) p[i] = 1;
        free(p);
        freed++;
    }
    return arg;
}

/* Whoever waited for the end of a purge would be refused once for each. */
static void refuse_at_once(void)
{
    mapped = given_back = 0;
    unsigned times = 0;
    slow = !ANY_MALLOC;
    for (; freed < FREES; times++) {
        errno = 0;
        CHECK(forget(malloc(MIB(2 * LIMIT))) == NULL && errno == ENOMEM);
        sched_yield();
    }
    slow = false;
    printf("%u refusals beside %d frees, %u mmap, %u purges\n", times, FREES, mapped, given_back);
    fflush(stdout);
    CHECK(given_back == 0 && mapped <= 10 * times);
    CHECK(ANY_MALLOC || (begun && times > 10 * FREES));
}

static void *free_it(void *p)
{
    free(p);
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
}

/* Signals do not end the wait for it. */
static void serve_what_is_going_back(void)
{
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    void *p = malloc(MIB(MOST));
    CHECK(p != NULL);
    begun = false;
    slow = !ANY_MALLOC;
    pthread_t other = start_thread(free_it, p);
    if (ANY_MALLOC) join_thread(other);
    while (slow && !begun) sched_yield();
    CHECK(signal(SIGALRM, on_signal) != SIG_ERR && setitimer(ITIMER_REAL, &often, NULL) == 0);
    CHECK((p = malloc(MIB(MOST))) != NULL);
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    slow = false;
    free(p);
    if (!ANY_MALLOC) join_thread(other);
}

static void live(void *unused)
{
    (void)unused;
    pthread_t threads[THREADS];
    CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){MIB(LIMIT), MIB(LIMIT)}) == 0);
    for (int i = 0; i < THREADS; i++) threads[i] = start_thread(keep_freeing, NULL);
    refuse_at_once();
    stop = true;
    for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
    serve_what_is_going_back();
}

/* from_start: hz3's start, too, is under the limit, so it knows that mapped memory counts. */
int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "from_start") == 0) {
        CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){MIB(LIMIT), MIB(LIMIT)}) == 0);
        execv("/proc/self/exe", (char *const[]){argv[0], "under_limit", NULL});
        return 1;
    }
    expect_success(in_child(live, NULL), 40);
}
