/* A workload with known figures, for the lines of the observation boxes.  One thread's objects are freed by another,
 * which ends.  The owner takes some of them again.  The rest stays, or is trimmed by a third thread.  The child of
 * `fork` does no more than end.
 *
 *     boxes OBJECTS TAKEN [trim|fork]
 *
 * Prints how many objects are left in the stash and in the spills. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/init.h"
#include "base/sizeclass.h"
#include "front/threads.h"
#include "hz3.h"
#include "middle/owner_stash.h"
#include "support.h"

enum { SIZE = 64, MOST = 10000 };

static void *objects[MOST];
static size_t freed;

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

static void *trim(void *arg)
{
    hz3_collect(true);
    return arg;
}

int main(int argc, char **argv)
{
    CHECK(argc > 2);
    freed = strtoul(argv[1], NULL, 10);
    size_t taken = strtoul(argv[2], NULL, 10);
    CHECK(freed <= MOST && taken <= MOST);
    hz3_ensure_started();
    allocate(freed);
    join_thread(start_thread(free_all, NULL));
    allocate(taken);
    size_t spilled = hz3_outbox ? hz3_owner_stash_spilled(hz3_outbox, hz3_class_of(SIZE)) : 0;
    if (argc > 3 && strcmp(argv[3], "trim") == 0) join_thread(start_thread(trim, NULL));
    if (argc > 3 && strcmp(argv[3], "fork") == 0) {
        pid_t child = fork();
        if (!child) return 0;
        CHECK(waitpid(child, NULL, 0) == child);
    }
    printf("stashed=%zu spilled=%zu\n", hz3_owner_stash_objects(hz3_class_of(SIZE)), spilled);
}
