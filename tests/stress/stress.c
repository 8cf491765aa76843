/* Proves that no block is handed out twice and no byte of a live one changes by itself.  Meanwhile threads allocate,
 * resize and free blocks of all sizes and alignments, pass them on, end, are replaced, and fork.
 *
 *     stress [SECONDS [THREADS [SEED [unforked]]]]
 *
 * "unforked" is for emulators of other processors, which fail if a process forks while threads start.
 *
 * A block's expected content is kept beside it, never in it.  If a block has two owners, each writes its own pattern,
 * and one of them finds the other's. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

#ifdef USE_HZ3_NAMES
#include "hz3.h"
#define malloc             hz3_malloc
#define calloc             hz3_calloc
#define realloc            hz3_realloc
#define aligned_alloc      hz3_aligned_alloc
#define free               hz3_free
#define malloc_usable_size hz3_malloc_usable_size
#endif

enum { MOST_THREADS = 256, LIVE = 400, MAILBOX = 512, LIFE = 20000 };

/* Describes a block, and passes with it from thread to thread through the mailbox. */
struct shadow {
    void *p;
    size_t size;
    uint64_t id;
};

/* The blocks of a thread.  When it ends, its successor takes them over. */
struct handoff {
    pthread_t thread;
    uint64_t seed, operations;
    struct shadow *live[LIVE];
};

static struct shadow shadows[MOST_THREADS * LIVE], *mailbox[MAILBOX];
static struct handoff handoffs[MOST_THREADS];
static uint64_t ids;
static bool stop;

static size_t any_size(uint64_t *seed)
{
    uint64_t kind = next_random(seed) % 1000;
    if (kind < 800) return next_random(seed) % 1025;
    if (kind < 980) return next_random(seed) % KIB(9);
    if (kind < 999) return next_random(seed) % KIB(130);
    return next_random(seed) % MIB(3);
}

static void own(struct shadow *s, void *p, size_t size)
{
    CHECK(p != NULL && (uintptr_t)p % least_alignment(size) == 0);
    s->p = p;
    s->size = size;
    s->id = __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED) << 32;
    fill_sparsely(p, size, KIB(4), s->id);
}

static void take(struct shadow *s, uint64_t *seed)
{
    size_t size = any_size(seed), alignment = (size_t)16 << next_random(seed) % 9;
    uint64_t way = next_random(seed) % 10;
    void *p = way < 6 ? malloc(size) : way < 8 ? calloc(1, size) : aligned_alloc(alignment, size);
    CHECK(p != NULL && malloc_usable_size(p) >= size);
    if (way == 6 || way == 7) CHECK(is_zero(p, size));
    if (way >= 8) CHECK((uintptr_t)p % alignment == 0);
    own(s, p, size);
}

static void resize(struct shadow *s, uint64_t *seed)
{
    size_t size = any_size(seed) + 1;
    s->p = realloc(s->p, size);
    CHECK(s->p != NULL);
    CHECK(is_filled_sparsely(s->p, s->size, KIB(4), s->id, size));
    own(s, s->p, size);
}

static void drop(struct shadow *s)
{
    CHECK(is_filled_sparsely(s->p, s->size, KIB(4), s->id, s->size));
    free(s->p);
    s->p = NULL;
}

/* Exchanges a block for the one in some place of the mailbox. */
static void exchange(struct shadow **mine, uint64_t *seed)
{
    *mine = __atomic_exchange_n(&mailbox[next_random(seed) % MAILBOX], *mine, __ATOMIC_ACQ_REL);
}

static void *sit(void *arg)
{
    struct handoff *handoff = (struct handoff *)arg;
    uint64_t life = LIFE / 2 + next_random(&handoff->seed) % LIFE;
    for (; life > 0 && !__atomic_load_n(&stop, __ATOMIC_RELAXED); life--) {
        struct shadow **s = &handoff->live[next_random(&handoff->seed) % LIVE];
        uint64_t what = next_random(&handoff->seed) % 8;
        if (*s == NULL || what < 3)
            exchange(s, &handoff->seed);
        else if ((*s)->p == NULL)
            take(*s, &handoff->seed);
        else if (what == 3)
            resize(*s, &handoff->seed);
        else
            drop(*s);
        handoff->operations++;
    }
    return NULL;
}

/* No thread owns the blocks in the mailbox when the process forks, so the child can take all. */
static void empty_the_mailbox(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < MAILBOX; i++)
        if (mailbox[i] != NULL && mailbox[i]->p != NULL) drop(mailbox[i]);
    uint64_t seed = ids;
    for (int i = 0; i < 300; i++) {
        struct shadow one;
        take(&one, &seed);
        resize(&one, &seed);
        drop(&one);
    }
}

static void replace_the_ended(size_t threads)
{
    for (size_t i = 0; i < threads; i++)
        if (pthread_tryjoin_np(handoffs[i].thread, NULL) == 0) handoffs[i].thread = start_thread(sit, &handoffs[i]);
}

static uint64_t end_all(size_t threads)
{
    uint64_t operations = 0;
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < threads; i++) {
        join_thread(handoffs[i].thread);
        operations += handoffs[i].operations;
    }
    for (size_t i = 0; i < threads * LIVE; i++)
        if (shadows[i].p != NULL) drop(&shadows[i]);
    return operations;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 3;
    size_t threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 8;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    bool forking = argc <= 4;
    CHECK(forking || strcmp(argv[4], "unforked") == 0);
    CHECK(seconds > 0 && threads > 0 && threads <= MOST_THREADS);
    for (size_t i = 0; i < threads; i++) {
        handoffs[i].seed = seed * 1000003 + i;
        for (size_t j = 0; j < LIVE; j++) handoffs[i].live[j] = &shadows[i * LIVE + j];
        handoffs[i].thread = start_thread(sit, &handoffs[i]);
    }
    size_t forks = 0;
    for (double until = now() + seconds; now() < until; forks += forking) {
        if (forking) expect_success(in_child(empty_the_mailbox, NULL), 20);
        for (int i = 0; i < 20; i++) {
            replace_the_ended(threads);
            sleep_for(0.002);
        }
    }
    uint64_t operations = end_all(threads);
    printf("%llu operations, %llu blocks, %zu forks, page_size=%ld\n", (unsigned long long)operations,
           (unsigned long long)ids, forks, sysconf(_SC_PAGESIZE));
    printf("tried=%llu held=%llu\n", (unsigned long long)operations, (unsigned long long)operations);
    CHECK(operations > 1000 * threads && (forks > 0) == forking);
}
