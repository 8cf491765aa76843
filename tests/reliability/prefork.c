/* Proves what docs/use/prefork.md says.  A child that allocates and frees beside its parent's objects writes to little
 * of the memory that the two share, free memory included.  Memory that was free in the parent goes back in the child as
 * well.
 *
 *     prefork write [CHILDREN]      the decay time has to be long, as a pass of reclaim writes to shared tables
 *     prefork passes [CHILDREN]     the same for long enough that passes run, with the default decay time
 *     prefork give_back [CHILDREN]
 *
 * Passes write to tables only.  Those are less than a sixtieth of this heap. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

enum { OBJECTS = 400000, FREED_EVERY = 5, LEAST = 16, MOST = 1016 }; /* 320,000 objects are left */
enum { OWN = 100000, AT_ONCE = 100, MOST_CHILDREN = 64, PATIENCE = 60 };
#define MOST_WRITTEN         (MIB(12) / 10)
#define MOST_WRITTEN_FREEING MIB(3)
#define MOST_BY_PASSES       (MIB(28) / 10)
#define SECONDS_OF_PASSES    2.5

static bool passes;
static void *objects[OBJECTS];

static size_t size_of(size_t i)
{
    return LEAST + i * 37 % (MOST - LEAST + 1);
}

static void *make(size_t i)
{
    void *p = malloc(size_of(i));
    CHECK(p != NULL);
    return memset(p, 1, size_of(i));
}

static pthread_barrier_t *together;

static void serve(void *number)
{
    void *own[AT_ONCE] = {0};
    pthread_barrier_wait(together);
    double until = now() + (passes ? SECONDS_OF_PASSES : 0);
    do {
        for (size_t i = (size_t)number; i < (size_t)number + OWN; i++) {
            free(own[i % AT_ONCE]);
            own[i % AT_ONCE] = make(i * 7919);
        }
    } while (now() < until);
    size_t bytes = written_bytes();
    for (size_t i = 0, freed = 0; freed < OWN; i++)
        if (objects[i] != NULL) {
            free(objects[i]);
            freed++;
        }
    size_t freeing = written_bytes();
    dprintf(STDOUT_FILENO, "wrote to %zu KiB, freeing its parent's to %zu KiB\n", bytes / 1024, freeing / 1024);
    pthread_barrier_wait(together);
    size_t more = passes ? MOST_BY_PASSES : 0;
    CHECK(bytes <= MOST_WRITTEN + more && freeing <= MOST_WRITTEN_FREEING + more);
}

static void serve_side_by_side(size_t children)
{
    pid_t child[MOST_CHILDREN];
    pthread_barrierattr_t shared;
    CHECK(pthread_barrierattr_init(&shared) == 0);
    CHECK(pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) == 0);
    CHECK(pthread_barrier_init(together, &shared, (unsigned)children) == 0);
    for (size_t i = 0; i < children; i++) child[i] = in_child(serve, (void *)i);
    for (size_t i = 0; i < children; i++) expect_success(child[i], PATIENCE);
}

static void shrink_in_passing(void *full)
{
    void *some[200];
    for (double until = now() + 20; resident_bytes() > *(size_t *)full / 4 && now() < until; sleep_for(0.001)) {
        for (size_t i = 0; i < COUNT_OF(some); i++) some[i] = malloc(64);
        for (size_t i = 0; i < COUNT_OF(some); i++) free(some[i]);
    }
    CHECK(resident_bytes() <= *(size_t *)full / 4);
}

static void *end_at_once(void *unused)
{
    return unused;
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    size_t children = argc > 2 ? strtoul(argv[2], NULL, 10) : 8;
    CHECK(children > 0 && children <= MOST_CHILDREN);
    together = mmap(NULL, sizeof(*together), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(together != MAP_FAILED);
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = make(i);
    size_t full = resident_bytes();
    for (size_t i = 0; i < OBJECTS; i += FREED_EVERY) {
        free(objects[i]);
        objects[i] = NULL;
    }
    passes = strcmp(argv[1], "passes") == 0;
    if (passes || strcmp(argv[1], "write") == 0) {
        serve_side_by_side(children);
    } else {
        join_thread(start_thread(end_at_once, NULL)); /* in a program of one thread the frees themselves give back */
        for (size_t i = 0; i < OBJECTS; i++) free(objects[i]);
        CHECK(ANY_MALLOC || resident_bytes() > full / 4 * 3);
        for (size_t i = 0; i < children; i++) expect_success(in_child(shrink_in_passing, &full), PATIENCE);
    }
    printf("tried=%zu held=%zu\n", children, children);
}
