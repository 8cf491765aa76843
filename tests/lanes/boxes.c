/* A workload with known figures, for the lines of the observation boxes.  One thread's objects are freed by another,
 * which ends.  The owner takes some of them again, and a third thread steals some.  The rest stays, or is trimmed by a
 * fourth thread.
 *
 *     boxes OBJECTS TAKEN STOLEN [trim]
 *
 * Prints how many objects are left in the stash and in the spills. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/init.h"
#include "base/sizeclass.h"
#include "front/threads.h"
#include "hz3.h"
#include "middle/owner_stash.h"
#include "support.h"

enum { SIZE = 64, MOST = 10000 };

static void *objects[MOST];
static size_t freed, stolen, spilled;
static pthread_barrier_t took;

static void *free_all(void *arg)
{
    (void)arg;
    hz3_threads_join(&hz3_thread); /* before that, no free is remote */
    for (size_t i = 0; i < freed; i++) hz3_free(objects[i]);
    return NULL;
}

static void allocate(size_t n)
{
    for (size_t i = 0; i < n; i++) CHECK((objects[i] = hz3_malloc(SIZE)) != NULL);
}

static void note_spilled(void)
{
    if (hz3_outbox) spilled += hz3_owner_stash_spilled(hz3_outbox, hz3_class_of(SIZE));
}

/* Does not end, so that it keeps the objects it took. */
static void *steal(void *arg)
{
    (void)arg;
    allocate(stolen);
    note_spilled();
    pthread_barrier_wait(&took);
    pause();
    return NULL;
}

static void *trim(void *arg)
{
    hz3_collect(true);
    return arg;
}

int main(int argc, char **argv)
{
    CHECK(argc > 3);
    freed = strtoul(argv[1], NULL, 10);
    size_t taken = strtoul(argv[2], NULL, 10);
    stolen = strtoul(argv[3], NULL, 10);
    CHECK(freed <= MOST && taken <= MOST && stolen <= MOST);
    hz3_ensure_started();
    allocate(freed);
    join_thread(start_thread(free_all, NULL));
    allocate(taken);
    note_spilled();
    if (stolen) {
        pthread_barrier_init(&took, NULL, 2);
        start_thread(steal, NULL);
        pthread_barrier_wait(&took);
    }
    if (argc > 4) join_thread(start_thread(trim, NULL));
    printf("stashed=%zu spilled=%zu\n", hz3_owner_stash_objects(hz3_class_of(SIZE)), spilled);
}
