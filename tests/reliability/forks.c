/* Proves that a process may fork whatever its threads are doing, and that the children's heaps are intact.  Beside it
 * 32 threads free their own and others' blocks, use stdio, end, and start programs.  Forks come from several threads at
 * once, from destructors of threads, from exit handlers, and, in another process, from every tenth handler of signals
 * that are sent a thousand times a second, also to a thread that uses stdio.
 *
 *     forks [FORKS [SEED [SECONDS]]]     at least FORKS forks, and SECONDS under signals
 *
 * The rates of signals are judged from ten seconds on. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "churn.h"
#include "mail.h"
#include "programs.h"

enum { THREADS = 32, FORKING = 4, SIGNALLED = 8, PASSED_ON = 200, LINES = 12, LINE = 3000, PATIENCE = 60 };
/* Of so many signals the handler of one forks.  So many a second have to be sent, and to be handled; on a busy machine
 * signals coalesce, and one is sent late but not left out. */
enum { FORK_EVERY = 10, RATE = 1000, LEAST_SENT = 900, LEAST_HANDLED = 100, JUDGED_FROM = 10 };

static size_t *forks, *handled; /* shared with the children */
static uint64_t seed;
static bool stop;
static pthread_key_t key;
static FILE *paper;
static char text[LINES * LINE + 1];

static bool stopped(void)
{
    return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

static void count_fork(void)
{
    __atomic_add_fetch(forks, 1, __ATOMIC_RELAXED);
}

/* ---- children ---- */

static void churn_a_little(void *random)
{
    churn((uintptr_t)random, 40);
}

static void *churn_in_a_thread(void *random)
{
    churn_a_little(random);
    return NULL;
}

static void fork_once_more(void)
{
    expect_success(in_child(churn_a_little, NULL), PATIENCE);
    count_fork();
}

static void live_as_a_child(void *number)
{
    pthread_t threads[2];
    mail_write_all(500 + (size_t)number % 4000);
    for (size_t i = 0; i < COUNT_OF(threads); i++) threads[i] = start_thread(churn_in_a_thread, (void *)i);
    churn((uintptr_t)number, 60);
    CHECK(fprintf(paper, "%zu\n", (size_t)number) > 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) join_thread(threads[i]);
    if ((size_t)number % 4 == 0) {
        CHECK(atexit(fork_once_more) == 0);
        exit(0);
    }
}

static void *fork_often(void *first)
{
    for (size_t i = (size_t)first; !stopped(); i += FORKING) {
        expect_success(in_child(live_as_a_child, (void *)i), PATIENCE);
        count_fork();
    }
    return NULL;
}

/* ---- the other threads' work ---- */

/* getline and open_memstream's stream allocate while they hold the stream's lock. */
static void use_streams(uint64_t *random)
{
    char *line = NULL, *copy = NULL;
    size_t room = 0, bytes = 0, lines = 0;
    FILE *from = fmemopen(text, sizeof(text) - 1, "r"), *to = open_memstream(&copy, &bytes);
    CHECK(from != NULL && to != NULL);
    for (; getline(&line, &room, from) > 0; lines++) CHECK(fputs(line, to) >= 0);
    CHECK(lines == LINES && fclose(from) == 0 && fclose(to) == 0);
    CHECK(bytes == sizeof(text) - 1 && memcmp(copy, text, bytes) == 0);
    free(line);
    free(copy);
    CHECK(fprintf(paper, "%*d\n", (int)(next_random(random) % LINE), 1) > 0);
    if (next_random(random) % 4 == 0) CHECK(fflush(NULL) == 0);
}

/* Runs twice, before and after the allocator's own destructor. */
static void fork_at_thread_end(void *again)
{
    churn(1, 10);
    if (again != &key) CHECK(pthread_setspecific(key, &key) == 0);
    fork_here(0);
    count_fork();
}

static void *end_with_forks(void *arg)
{
    churn(2, 10);
    CHECK(pthread_setspecific(key, forks) == 0);
    return arg;
}

static void pass_letters_on(struct letter **letter, uint64_t *random)
{
    for (int i = 0; i < PASSED_ON; i++) {
        CHECK(mail_write(*letter, next_random(random) % ((size_t)16 << next_random(random) % 13)));
        *letter = mail_exchange(*letter, random);
    }
}

static void *live(void *number)
{
    struct letter *letter = mail_new_letter();
    uint64_t random = seed + (uintptr_t)number;
    for (uint64_t i = (uintptr_t)number; !stopped(); i++) {
        pass_letters_on(&letter, &random);
        churn(random, 10);
        use_streams(&random);
        if (i % 64 == 0) join_thread(start_thread(end_with_forks, NULL));
        if (i % 256 == 1) start_programs();
    }
    return NULL;
}

static void fork_beside_threads(void *count)
{
    pthread_t threads[THREADS], forking[FORKING];
    for (size_t i = 0; i < THREADS; i++) threads[i] = start_thread(live, (void *)i);
    for (size_t i = 0; i < FORKING; i++) forking[i] = start_thread(fork_often, (void *)i);
    while (__atomic_load_n(forks, __ATOMIC_RELAXED) < *(size_t *)count) sleep_for(0.01);
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    for (size_t i = 0; i < FORKING; i++) join_thread(forking[i]);
    for (size_t i = 0; i < THREADS; i++) join_thread(threads[i]);
}

/* ---- signals ---- */

static __thread bool uses_streams;

static void handle(int signal)
{
    if (__atomic_add_fetch(handled, 1, __ATOMIC_RELAXED) % FORK_EVERY != 0 || uses_streams) return;
    int saved = errno;
    fork_here(signal);
    count_fork();
    errno = saved;
}

/* In this thread no handler forks, as a fork that interrupts libc under its own locks would deadlock. */
static void *use_streams_under_signals(void *random)
{
    uses_streams = true;
    while (!stopped()) use_streams((uint64_t *)random);
    return NULL;
}

static void *live_under_signals(void *number)
{
    struct letter *letter = mail_new_letter();
    uint64_t random = seed + (uintptr_t)number;
    while (!stopped()) {
        pass_letters_on(&letter, &random);
        churn(random, 10);
    }
    return NULL;
}

/* Sends each at its time, which does not depend on the last one.  Returns how many it sent. */
static size_t send_signals(const pthread_t *threads, size_t count, double seconds)
{
    struct timespec at;
    size_t sent = 0;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &at) == 0);
    for (double until = now() + seconds; now() < until; sent++) {
        CHECK(pthread_kill(threads[sent % count], SIGUSR1) == 0);
        at.tv_nsec += 1000000000 / RATE;
        at.tv_sec += at.tv_nsec / 1000000000;
        at.tv_nsec %= 1000000000;
        CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == 0);
    }
    return sent;
}

static void fork_under_signals(void *arg)
{
    double seconds = *(double *)arg;
    uint64_t random = seed;
    pthread_t threads[SIGNALLED + 1];
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    for (size_t i = 0; i < SIGNALLED; i++) threads[i] = start_thread(live_under_signals, (void *)i);
    threads[SIGNALLED] = start_thread(use_streams_under_signals, &random);
    size_t sent = send_signals(threads, COUNT_OF(threads), seconds);
    CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    for (size_t i = 0; i < COUNT_OF(threads); i++) join_thread(threads[i]);
    printf("%zu signals sent in %.1f s, %zu handled\n", sent, seconds, *handled);
    fflush(stdout);
    CHECK(seconds < JUDGED_FROM || (double)sent >= LEAST_SENT * seconds);
    CHECK(seconds < JUDGED_FROM || (double)*handled >= LEAST_HANDLED * seconds);
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100, before;
    double seconds = argc > 3 ? atof(argv[3]) : 2;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    forks = mmap(NULL, 2 * sizeof(*forks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    handled = forks + 1;
    paper = fopen("/dev/null", "w");
    CHECK(forks != MAP_FAILED && paper != NULL && pthread_key_create(&key, fork_at_thread_end) == 0);
    for (size_t i = 0; i < LINES; i++) sprintf(text + i * LINE, "%*zu\n", LINE - 1, i);
    mail_start();
    expect_success(in_child(fork_beside_threads, &count), PATIENCE + (double)count);
    before = *forks;
    expect_success(in_child(fork_under_signals, &seconds), PATIENCE + seconds);
    CHECK(*forks > before);
    printf("tried=%zu held=%zu (%zu under signals)\n", *forks, *forks, *forks - before);
}
