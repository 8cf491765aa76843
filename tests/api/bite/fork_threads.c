/* Proves that a child costs little beside many threads, and that what they had cached is not lost to it.
 *
 *     fork_threads faults    children that end at once copy few pages, whatever the threads have cached
 *     fork_threads small     so do children of a few calls, in a process of one thread
 *     fork_threads reuse     a child, and a child of that child, gets what its parent's threads had freed
 *     fork_threads counted   what they had cached is counted as cached, until malloc_trim gives it back */
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

/* Not all C libraries declare it. */
int malloc_trim(size_t keep);

enum { THREADS = 200, ROUNDS = 5000, HELD = 200, CHILDREN = 20, PATIENCE = 30, MOST_FAULTS_AT_ONCE = 35 };
/* MOST_FAULTS and MOST_FAULTS_SMALL are by lane.  glibc has one page fault for each thread and 42 more.  Some 25 of a
 * child are the kernel's and the C library's, a few more or less as the addresses fall. */
enum { SIZE = 512, OBJECTS = 100, OWNERS = 50 }; /* more objects than two magazines hold */

static int ready;
static pthread_barrier_t all_taken;
static void *freed[OWNERS * OBJECTS];

static void all_ready(int threads)
{
    while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) < threads) usleep(1000);
}

static void *sleep_on(void)
{
    __atomic_add_fetch(&ready, 1, __ATOMIC_RELEASE);
    for (;;) pause();
    return NULL;
}

static void *allocate(void *number)
{
    uint64_t seed = (uintptr_t)number;
    void *held[HELD] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t random = next_random(&seed);
        free(held[random % HELD]);
        held[random % HELD] = malloc((random >> 32) % 3000);
    }
    for (int i = 0; i < HELD; i++) free(held[i]);
    return sleep_on();
}

/* How many page faults each child had that ran body. */
static double faults_of(void (*body)(void *))
{
    struct rusage before, after;
    CHECK(getrusage(RUSAGE_CHILDREN, &before) == 0);
    for (int i = 0; i < CHILDREN; i++) expect_success(in_child(body, NULL), PATIENCE);
    CHECK(getrusage(RUSAGE_CHILDREN, &after) == 0);
    return (double)(after.ru_minflt - before.ru_minflt) / CHILDREN;
}

static void end(void *unused)
{
    (void)unused;
}

static void call_a_little(void *unused)
{
    (void)unused;
    for (int i = 0; i < 16; i++) free(forget(malloc(64u << i % 8)));
}

static void faults(void)
{
    for (uintptr_t i = 0; i < THREADS; i++) start_thread(allocate, (void *)i);
    all_ready(THREADS);
    double found = faults_of(end);
    printf("%.0f page faults\n", found);
    CHECK(ANY_MALLOC || found <= MOST_FAULTS);
}

static void small(void)
{
    for (int i = 0; i < 16; i++) memset(forget(malloc(100)), 1, 100);
    double at_once = faults_of(end), of_calls = faults_of(call_a_little) - at_once;
    printf("%.0f page faults, and %.0f of calls\n", at_once, of_calls);
    CHECK(ANY_MALLOC || (at_once <= MOST_FAULTS_AT_ONCE && of_calls <= MOST_FAULTS_SMALL));
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

static void *take_and_free(void *number)
{
    void **own = &freed[(uintptr_t)number * OBJECTS];
    for (int i = 0; i < OBJECTS; i++) CHECK((own[i] = malloc(SIZE)) != NULL);
    pthread_barrier_wait(&all_taken); /* else some would take what others freed */
    for (int i = 0; i < OBJECTS; i++) free(own[i]);
    return sleep_on();
}

static void take_all(void *unused)
{
    (void)unused;
    size_t strange = 0;
    for (size_t i = 0; i < COUNT_OF(freed); i++) {
        void *p = malloc(SIZE);
        fill(p, SIZE, i);
        strange += bsearch(&p, freed, COUNT_OF(freed), sizeof(void *), by_address) == NULL;
    }
    printf("%zu objects of %zu are new\n", strange, COUNT_OF(freed));
    fflush(stdout);
    /* Runs in use have objects that nobody ever had.  More than half of the others are in magazines. */
    CHECK(ANY_MALLOC || strange <= COUNT_OF(freed) / 3);
}

static void take_all_in_a_child(void *unused)
{
    expect_success(in_child(take_all, unused), PATIENCE);
    take_all(unused);
}

static void reuse(void)
{
    CHECK(pthread_barrier_init(&all_taken, NULL, OWNERS) == 0);
    for (uintptr_t i = 0; i < OWNERS; i++) start_thread(take_and_free, (void *)i);
    all_ready(OWNERS);
    qsort(freed, COUNT_OF(freed), sizeof(void *), by_address);
    expect_success(in_child(take_all_in_a_child, NULL), PATIENCE);
}

static size_t cached(void)
{
    static char text[1 << 16];
    size_t (*says)(char *, size_t) = (size_t (*)(char *, size_t))dlsym(RTLD_DEFAULT, "hz3_stats_json");
    CHECK(says != NULL && says(text, sizeof(text)) < sizeof(text));
    const char *figure = strstr(text, "\"cached\":");
    CHECK(figure != NULL);
    return strtoul(figure + strlen("\"cached\":"), NULL, 10);
}

static size_t cached_before;

static void count(void *unused)
{
    (void)unused;
    size_t now = cached();
    CHECK(now <= cached_before && now + KIB(64) >= cached_before);
    malloc_trim(0);
    CHECK(cached() < KIB(64));
}

static void counted(void)
{
    if (ANY_MALLOC) skip_test("other libraries have no such figure");
    for (uintptr_t i = 0; i < OWNERS; i++) start_thread(allocate, (void *)i);
    all_ready(OWNERS);
    cached_before = cached();
    CHECK(cached_before > MIB(1));
    expect_success(in_child(count, NULL), PATIENCE);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"faults", faults}, {"small", small}, {"reuse", reuse}, {"counted", counted}};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (strcmp(cases[i].name, argv[1]) == 0) {
            cases[i].run();
            fflush(stdout);
            _exit(0);
        }
    CHECK(false);
}
