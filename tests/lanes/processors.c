/* More threads than processors, in a build with HZ3_CPU_MAGAZINES.  Objects in processors' magazines are counted, can
 * be taken back, serve any thread, and are intact in forked children.
 *
 *     processors hold        objects are in processors' magazines and not in threads'; a pass takes them back
 *     processors fork        children are forked while the threads work
 *     processors stepped     a sequence never ends if its thread is stopped after each instruction
 *     processors fall-back   without restartable sequences processors have no magazines */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sizeclass.h"
#include "front/thread.h"
#include "hz3.h"
#include "reclaim/pass.h"
#include "support.h"
#include "variants/cpu_magazines.h"

enum { MOST = 256, SLOTS = 64, STEPS = 40000, MOST_SIZE = 3000, FORKS = 100, INSTRUCTIONS = 2000 };

static pthread_barrier_t joined, rest, end;
static unsigned threads;
static _Atomic bool over;

/* Allocates and frees at random.  Each object has a pattern of its own. */
static void work(uint64_t id, int steps)
{
    void *slot[SLOTS] = {NULL};
    size_t size[SLOTS];
    uint64_t seed = id + 1;
    for (int step = 0; step < steps; step++) {
        size_t i = next_random(&seed) % SLOTS;
        if (slot[i]) {
            CHECK(is_filled(slot[i], size[i], id * SLOTS + i));
            hz3_free(slot[i]);
            slot[i] = NULL;
        } else {
            size[i] = 1 + next_random(&seed) % MOST_SIZE;
            CHECK((slot[i] = hz3_malloc(size[i])));
            fill(slot[i], size[i], id * SLOTS + i);
        }
    }
    for (size_t i = 0; i < SLOTS; i++) hz3_free(slot[i]);
}

static size_t held_by(const struct hz3_cache *cache)
{
    size_t objects = 0;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) objects += hz3_cache_count(cache, cls);
    return objects;
}

static size_t held_by_processors(void)
{
    size_t objects = 0;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) objects += hz3_cpus_objects(cls);
    return objects;
}

static void *hold(void *id)
{
    hz3_free(hz3_malloc(1));
    pthread_barrier_wait(&joined);
    size_t before = held_by(&hz3_thread.cache);
    work((uintptr_t)id, STEPS);
    CHECK(held_by(&hz3_thread.cache) <= before);
    pthread_barrier_wait(&rest);
    pthread_barrier_wait(&end);
    return NULL;
}

static void *hold_as_usual(void *id)
{
    hz3_free(hz3_malloc(1));
    pthread_barrier_wait(&joined);
    work((uintptr_t)id, STEPS);
    CHECK(held_by(&hz3_thread.cache) > 0);
    pthread_barrier_wait(&rest);
    pthread_barrier_wait(&end);
    return NULL;
}

static void *work_on(void *id)
{
    hz3_free(hz3_malloc(1));
    pthread_barrier_wait(&joined);
    while (!over) work((uintptr_t)id, SLOTS);
    return NULL;
}

static void in_the_child(void *unused)
{
    (void)unused;
    CHECK(!hz3_cpus_shared());
    work(MOST, STEPS / 100);
    hz3_reclaim_run(true);
    CHECK(held_by_processors() == 0);
}

static void start(pthread_t *thread, void *(*body)(void *))
{
    pthread_barrier_init(&joined, NULL, threads + 1);
    pthread_barrier_init(&rest, NULL, threads + 1);
    pthread_barrier_init(&end, NULL, threads + 1);
    for (uintptr_t i = 0; i < threads; i++) thread[i] = start_thread(body, (void *)i);
    pthread_barrier_wait(&joined);
}

static void rest_and_give_back(bool works)
{
    pthread_barrier_wait(&rest);
    CHECK(hz3_cpus_shared() == works);
    CHECK((held_by_processors() > 0) == works);
    hz3_reclaim_run(true);
    CHECK(held_by_processors() == 0);
    pthread_barrier_wait(&end);
}

static void fork_some(void)
{
    for (int i = 0; i < FORKS; i++) expect_success(in_child(in_the_child, NULL), 20);
    over = true;
}

static void be_traced(void *sequence)
{
    void *before;
    CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
    raise(SIGSTOP);
    if (sequence) hz3_rseq_exchange(hz3_cpu_rows, &hz3_cpu_closed, 1, HZ3_STUB_TOP, &before);
    _exit(0);
}

/* Whether a child that is stepped ends.  It runs one sequence, or with NULL none. */
static bool ends_if_stepped(const char *sequence)
{
    int status;
    pid_t child = in_child(be_traced, (void *)sequence);
    CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    for (int i = 0; i < INSTRUCTIONS && WIFSTOPPED(status); i++)
        CHECK(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0 && waitpid(child, &status, 0) == child);
    if (WIFEXITED(status)) return true;
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
    return false;
}

/* The store that registers a sequence must come right before its first instruction.  If a thread is stopped between the
 * two, the kernel finds it outside the sequence and clears the registration. */
static void step(void)
{
    CHECK(ends_if_stepped(NULL));
    CHECK(!ends_if_stepped("a sequence"));
}

int main(int argc, char **argv)
{
    static pthread_t thread[MOST];
    CHECK(argc == 2);
    bool falls_back = !strcmp(argv[1], "fall-back"), forks = !strcmp(argv[1], "fork");
    CHECK(hz3_rseq_start() == !falls_back);
    if (!strcmp(argv[1], "stepped")) return step(), 0;
    hz3_free(hz3_malloc(1));
    threads = hz3_min(4 * hz3_os.cpus + 1, (unsigned)MOST);
    start(thread, forks ? work_on : falls_back ? hold_as_usual : hold);
    forks ? fork_some() : rest_and_give_back(!falls_back);
    for (unsigned i = 0; i < threads; i++) join_thread(thread[i]);
    CHECK(!hz3_cpus_shared());
    return 0;
}
