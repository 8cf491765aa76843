/* Proves that no object is lost and none has two owners.  Threads allocate, exchange blocks, free each other's, end,
 * are replaced, or sleep with what they hold.  Whenever all of them rest, in every class
 *
 *     taken from runs - retired into runs = live + in magazines and outboxes + in stashes + in transfer + in central
 *
 * and the left side is also the number of objects that the runs miss.  Over all classes, exactly and in bytes,
 *
 *     live + in magazines and outboxes + in stashes + in transfer + in central + uncarved + metadata = committed,
 *
 * where committed is the kernel's figure.  In the end all threads have ended, and nothing is out of the runs.
 *
 *     conserve [SECONDS [THREADS [SEED [MOMENTS]]]]
 *
 * With MOMENTS they rest so often.  Every 16th time a child is forked, which checks the same sums, frees all live
 * blocks, and checks again.  (ThreadSanitizer does not support that.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api/init.h"
#include "base/sizeclass.h"
#include "hz3.h"
#include "front/evict.h"
#include "front/threads.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include "reclaim/pass.h"
#include "audit.h"
#include "support.h"
#include "watch/stats.h"

enum {
    MOST_THREADS = 64,
    HELD = 300,
    MAILBOX = 256,
    LEGACY = 20,
    MOMENTS = 4,
    MOMENTS_PER_FORK = 16,
    UNITS_PER_WORD = 64
};
static const size_t SHADOWED = (size_t)64 << 30;

struct worker {
    pthread_t thread;
    uint64_t seed, operations;
    bool ends; /* at the end of the phase; the others sleep during the count */
    void *held[HELD];
    void *legacy[LEGACY]; /* freed after the thread has left hz3 */
};

static struct worker workers[MOST_THREADS];
static void *mailbox[MAILBOX];
static _Atomic uint64_t *shadow;
static _Atomic bool resting;
static uint64_t most_operations = UINT32_MAX; /* of a thread between two rests */
static pthread_barrier_t rest, work;
static pthread_key_t estate;

/* ---- which memory is live: one bit for 16 bytes ---- */

/* Sets or clears the block's bits.  All of them must have had the other value. */
static void claim(void *p, bool taken)
{
    size_t usable = hz3_malloc_usable_size(p);
    if (!usable) return; /* lane secure: of 0 bytes, in no window */
    size_t unit = ((uintptr_t)p - hz3_windows[0].base) / HZ3_UNIT, end = unit + hz3_units_of(usable);
    CHECK(end * HZ3_UNIT <= SHADOWED);
    while (unit < end) {
        size_t bits = hz3_min(UNITS_PER_WORD - unit % UNITS_PER_WORD, end - unit);
        uint64_t mask = (bits == UNITS_PER_WORD ? UINT64_MAX : ((uint64_t)1 << bits) - 1) << unit % UNITS_PER_WORD;
        _Atomic uint64_t *word = &shadow[unit / UNITS_PER_WORD];
        uint64_t was = taken ? atomic_fetch_or(word, mask) : atomic_fetch_and(word, ~mask);
        CHECK((was & mask) == (taken ? 0 : mask));
        unit += bits;
    }
}

static size_t any_size(uint64_t *seed)
{
    uint64_t kind = next_random(seed) % 100;
    if (kind < 50) return next_random(seed) % 64;
    if (kind < 90) return next_random(seed) % 1024;
    if (kind < 99) return next_random(seed) % KIB(16);
    return next_random(seed) % KIB(100);
}

/* Writes the first byte of each block, as a transport may have linked objects through it. */
static void *take(uint64_t *seed)
{
    size_t size = any_size(seed);
    char *p = next_random(seed) % 16 ? hz3_malloc(size) : hz3_aligned_alloc((size_t)16 << next_random(seed) % 6, size);
    CHECK(p != NULL);
    claim(p, true);
    if (size) *p = 1;
    return p;
}

static void drop(void **p)
{
    if (!*p) return;
    claim(*p, false);
    hz3_free(*p);
    *p = NULL;
}

/* ---- the threads ---- */

/* Sets its key again until hz3's own destructor has run. */
static void inherit(void *arg)
{
    struct worker *self = arg;
    if (hz3_thread.state != HZ3_THREAD_LEFT) {
        CHECK(pthread_setspecific(estate, self) == 0);
        return;
    }
    for (int i = 0; i < LEGACY; i++) drop(&self->legacy[i]);
    void *late = take(&self->seed);
    drop(&late);
}

static void one_phase(struct worker *self)
{
    uint64_t end = self->operations + most_operations;
    for (; self->operations < end && !atomic_load_explicit(&resting, memory_order_relaxed); self->operations++) {
        uint64_t what = next_random(&self->seed) % 8;
        void **mine = &self->held[next_random(&self->seed) % HELD];
        if (what < 4)
            *mine = __atomic_exchange_n(&mailbox[next_random(&self->seed) % MAILBOX], *mine, __ATOMIC_ACQ_REL);
        else if (*mine)
            drop(mine);
        else
            *mine = take(&self->seed);
    }
}

static void *live(void *arg)
{
    struct worker *self = arg;
    CHECK(pthread_setspecific(estate, self) == 0);
    for (int i = 0; i < LEGACY; i++) self->legacy[i] = take(&self->seed);
    for (;;) {
        one_phase(self);
        if (self->ends) return NULL;
        pthread_barrier_wait(&rest);
        pthread_barrier_wait(&work);
    }
}

/* ---- the count ---- */

static size_t out_of_runs[HZ3_CLASS_VALUES];

static void count_runs(void)
{
    memset(out_of_runs, 0, sizeof out_of_runs);
    for (uint32_t i = 0; i < hz3_get(hz3_window_count); i++)
        for (uint32_t g = 0; g < hz3_min(hz3_windows[i].frontier, hz3_windows[i].spans_mapped); g++) {
            const struct hz3_span *span = &hz3_windows[i].spans[g];
            if (span->kind == HZ3_SPAN_RUN) out_of_runs[span->cls] += hz3_get(span->live);
        }
}

/* 0 if p is no large block. */
static size_t large_bytes(const void *p)
{
    return hz3_class_at(p) == HZ3_CLASS_LARGE ? hz3_malloc_usable_size(p) : 0;
}

static void count_live(size_t live[HZ3_CLASS_VALUES], size_t threads)
{
    for (size_t i = 0; i < MAILBOX; i++) live[hz3_class_at(mailbox[i])]++;
    for (size_t t = 0; t < threads; t++) {
        for (size_t i = 0; i < HELD; i++) live[hz3_class_at(workers[t].held[i])]++;
        for (size_t i = 0; i < LEGACY; i++) live[hz3_class_at(workers[t].legacy[i])]++;
    }
}

/* Bytes of all blocks that the program holds. */
static size_t live_bytes(const size_t live[HZ3_CLASS_VALUES], size_t threads)
{
    size_t bytes = 0;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) bytes += live[cls] * hz3_class_size(cls);
    for (size_t i = 0; i < MAILBOX; i++) bytes += large_bytes(mailbox[i]);
    for (size_t t = 0; t < threads; t++) {
        for (size_t i = 0; i < HELD; i++) bytes += large_bytes(workers[t].held[i]);
        for (size_t i = 0; i < LEGACY; i++) bytes += large_bytes(workers[t].legacy[i]);
    }
    return bytes;
}

/* waiting: free bytes in threads' caches and in shared ones. */
static void check_bytes(size_t live, size_t waiting)
{
    struct audit books = audit();
    struct hz3_stats stats;
    hz3_stats_read(&stats);
    size_t sum = live + waiting + books.central + books.uncarved + books.metadata;
    if (books.out + books.large == live + waiting && sum == books.committed && stats.allocated == live) return;
    fprintf(
        stderr,
        "bytes: live %zu (statistics say %zu) waiting %zu; out of runs %zu in large blocks %zu; central %zu uncarved "
        "%zu metadata %zu, in all %zu; committed %zu\n",
        live, stats.allocated, waiting, books.out, books.large, books.central, books.uncarved, books.metadata, sum,
        books.committed);
    exit(1);
}

/* No other thread may be inside hz3.  The lock keeps the background thread out. */
static void check_balance(size_t threads)
{
    size_t live[HZ3_CLASS_VALUES] = {0}, bytes = 0, heaps = 0, waiting = 0;
    hz3_lock(&hz3_reclaim_lock);
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) hz3_owner_stash_objects(cls); /* may retire some, with S121 */
    count_live(live, threads);
    count_runs();
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        size_t out = 0, cached = hz3_cache_objects(cls), stashed = hz3_owner_stash_objects(cls);
        size_t transfer = hz3_transfer_objects(cls);
        for (unsigned i = 0; i < hz3_heap_count; i++) out += hz3_get(hz3_heaps[i].taken[cls]);
        out -= hz3_central_retired(cls);
        bytes += out * hz3_class_size(cls);
        waiting += (cached + stashed + transfer) * hz3_class_size(cls);
        if (out == live[cls] + cached + stashed + transfer && out == out_of_runs[cls]) continue;
        fprintf(stderr, "class %u: taken - retired %zu, runs say %zu; live %zu cached %zu stashed %zu transfer %zu\n",
                cls, out, out_of_runs[cls], live[cls], cached, stashed, transfer);
        exit(1);
    }
    for (unsigned i = 0; i < hz3_heap_count; i++) heaps += hz3_get(hz3_heaps[i].live);
    CHECK(heaps == bytes);
    check_bytes(live_bytes(live, threads), waiting);
    hz3_unlock(&hz3_reclaim_lock);
}

static void drop_all(size_t threads)
{
    for (size_t i = 0; i < MAILBOX; i++) drop(&mailbox[i]);
    for (size_t t = 0; t < threads; t++) {
        for (size_t i = 0; i < HELD; i++) drop(&workers[t].held[i]);
        for (size_t i = 0; i < LEGACY; i++) drop(&workers[t].legacy[i]);
    }
}

static void balance_as_a_child(void *threads)
{
    check_balance((size_t)threads);
    drop_all((size_t)threads);
    check_balance((size_t)threads);
}

/* The threads work.  Then a third of them end, the others sleep, and the sums are checked. */
static void run_phase(size_t threads, double seconds)
{
    sleep_for(seconds);
    atomic_store(&resting, true);
    for (size_t i = 0; i < threads; i++)
        if (workers[i].ends) join_thread(workers[i].thread);
    pthread_barrier_wait(&rest);
    check_balance(threads);
}

static void check_that_all_goes_home(size_t threads)
{
    drop_all(threads);
    check_balance(threads);
    hz3_cache_flush();
    hz3_lock(&hz3_reclaim_lock);
    hz3_reclaim_run(true);
    hz3_unlock(&hz3_reclaim_lock);
    check_balance(threads);
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) CHECK(out_of_runs[cls] == 0);
    CHECK(hz3_owner_stash_waiting() == 0);
}

static void prepare(size_t threads, uint64_t seed)
{
    size_t sleepers = 0;
    hz3_ensure_started();
    shadow =
        mmap(NULL, SHADOWED / HZ3_UNIT / 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(shadow != MAP_FAILED && pthread_key_create(&estate, inherit) == 0);
    for (size_t i = 0; i < threads; i++) {
        workers[i] = (struct worker){.seed = seed * 1000003 + i, .ends = i % 3 == 0};
        sleepers += !workers[i].ends;
    }
    pthread_barrier_init(&rest, NULL, (unsigned)sleepers + 1);
    pthread_barrier_init(&work, NULL, (unsigned)sleepers + 1);
}

/* Wakes the sleepers and replaces the threads that ended.  To finish, it lets all threads end. */
static void go_on(size_t threads, bool finish)
{
    atomic_store(&resting, finish);
    for (size_t i = 0; i < threads; i++) {
        if (!finish && workers[i].ends) workers[i].thread = start_thread(live, &workers[i]);
        if (finish) workers[i].ends = true;
    }
    pthread_barrier_wait(&work);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    size_t threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 6;
    unsigned moments = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : MOMENTS, children = 0;
    uint64_t operations = 0;
    CHECK(moments > 0);
    if (argc > 4) most_operations = 1000; /* about as much time as a check takes */
    CHECK(seconds > 0 && threads > 3 && threads <= MOST_THREADS);
    prepare(threads, argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    for (size_t i = 0; i < threads; i++) workers[i].thread = start_thread(live, &workers[i]);
    for (unsigned moment = 1; moment <= moments; moment++) {
        run_phase(threads, seconds / moments);
        if (argc > 4 && moment % MOMENTS_PER_FORK == 0) {
            expect_success(in_child(balance_as_a_child, (void *)threads), 20);
            children++;
        }
        go_on(threads, moment == moments);
    }
    for (size_t i = 0; i < threads; i++) {
        if (i % 3) join_thread(workers[i].thread);
        operations += workers[i].operations;
    }
    check_that_all_goes_home(threads);
    printf("%zu operations\ntried=%u held=%u\n", (size_t)operations, moments + 2 * children, moments + 2 * children);
    CHECK(operations > (argc > 4 ? 10 : 1000) * threads);
}
