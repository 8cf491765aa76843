/* Proves that the heap of a child is intact, though its parent's other threads were allocating: the child frees its
 * parent's blocks, allocates, starts threads and forks again.  Any thread may fork, many times.
 *
 *     fork [FORKS] */
#include <stdio.h>
#include <stdlib.h>

#include "churn.h"

enum { BUSY = 4, FORKING_THREADS = 4, GENERATIONS = 3, OLD = 150 };

static size_t forks = 120;
static void *old[OLD];

static size_t old_size(size_t i)
{
    return i % 40 ? 1 + 37 * i : KIB(300) + i;
}

static void *churn_in_a_thread(void *seed)
{
    churn((uintptr_t)seed, 60);
    return NULL;
}

static void live_as_a_child(void *arg)
{
    size_t generation = (size_t)arg;
    for (size_t i = generation; i < OLD; i += GENERATIONS) {
        CHECK(is_filled(old[i], old_size(i), i));
        if (i % 2)
            free(old[i]);
        else
            free(realloc(old[i], 2 * old_size(i)));
    }
    churn(generation, 60);
    pthread_t threads[2];
    for (size_t i = 0; i < COUNT_OF(threads); i++) threads[i] = start_thread(churn_in_a_thread, (void *)i);
    if (generation + 1 < GENERATIONS) expect_success(in_child(live_as_a_child, (void *)(generation + 1)), 10);
    for (size_t i = 0; i < COUNT_OF(threads); i++) join_thread(threads[i]);
}

static void *fork_and_churn(void *arg)
{
    for (uint64_t i = 0; i < forks / 6; i++) {
        pid_t child = in_child(live_as_a_child, arg);
        churn(i, 20);
        expect_success(child, 30);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct busy busy[BUSY];
    if (argc > 1) forks = strtoul(argv[1], NULL, 10);
    CHECK(forks >= 6);
    for (size_t i = 0; i < OLD; i++) {
        old[i] = malloc(old_size(i));
        CHECK(old[i] != NULL);
        fill(old[i], old_size(i), i);
    }
    for (size_t i = 0; i < BUSY; i++) busy_start(&busy[i]);
    for (size_t i = 0; i < forks; i++) expect_success(in_child(live_as_a_child, (void *)0), 30);

    pthread_t threads[FORKING_THREADS];
    for (size_t i = 0; i < FORKING_THREADS; i++)
        threads[i] = start_thread(fork_and_churn, (void *)(size_t)(GENERATIONS - 1));
    for (size_t i = 0; i < FORKING_THREADS; i++) join_thread(threads[i]);
    for (size_t i = 0; i < BUSY; i++) busy_stop(&busy[i]);
    printf("tried=%zu held=%zu\n", forks + FORKING_THREADS * (forks / 6), forks + FORKING_THREADS * (forks / 6));
}
