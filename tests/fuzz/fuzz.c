/* An input is a program for the allocator: operations of one byte, each with its operands, which four threads carry out
 * in turn, while the system refuses what the input says and time passes when it says.  Whatever the input,
 *
 *     a block is aligned, holds what was put there until it is freed, and moves with it; calloc's is zero;
 *     what fails, fails with ENOMEM, changes nothing, and only if the system refused something meanwhile;
 *     what succeeds leaves errno alone;
 *     and once all is freed nothing counts as allocated, and, a while after the last refusal, no free page is kept.
 *
 * What a block should hold is kept beside it, never in it. */
#include <errno.h>
#include <semaphore.h>
#include <string.h>

#include "hz3.h"
#include "support.h"
#include "system.h"
#include "watch/stats.h"

enum {
    ACTORS = 4, /* the first is the thread that runs the input */
    BLOCKS = 4096,
    MANY = 256,
    GRANULE = 65536,
    LARGEST_LOG = 22,
    FILLED = 4096,  /* bytes of a block that are looked at; of what follows, the first EDGE of each granule, */
    EDGE = 64,      /* and the last */
    ALIGNMENT = 16, /* of every block */
    ERRNO = 1234,
};
#define LIVE_MAX MIB(64)

static struct block {
    char *p;
    size_t size, usable, alignment;
    uint64_t id; /* its last 32 bits are 0 */
} blocks[BLOCKS];
static size_t live;
static char *lowest = (char *)UINTPTR_MAX, *highest; /* that any block ever reached */

/* ---- the input ---- */

static const uint8_t *input;
static size_t left;

/* A number of so many bytes; what is beyond the end is 0. */
static uint64_t take(unsigned bytes)
{
    uint64_t number = 0;
    for (; bytes; bytes--) {
        number = number << 8 | (left ? *input : 0);
        input += left > 0;
        left -= left > 0;
    }
    return number;
}

static struct block *take_block(void)
{
    return &blocks[take(2) % BLOCKS];
}

/* Evenly spread over the doublings, or close to where one begins; some are larger than there can be. */
static size_t take_size(void)
{
    unsigned kind = (unsigned)take(1), log = kind % 32;
    uint64_t more = take(2);
    if (log > LARGEST_LOG) return log == 31 ? (size_t)PTRDIFF_MAX + more : more; /* 0, too */
    size_t from = (size_t)1 << log;
    return kind & 128 ? from + (int8_t)more : from + (from * more >> 16);
}

static bool is_absurd(size_t size)
{
    return size > MIB(1) << 10;
}

/* ---- what a block holds ---- */

/* Fills [from, to) of a block, as far as it is within `size`, or tells whether it is still there. */
static bool visit_part(const struct block *block, size_t from, size_t to, size_t size, bool write)
{
    size_t end = to < size ? to : size;
    if (from >= end) return true;
    if (!write) return is_filled(block->p + from, end - from, block->id + from);
    fill(block->p + from, end - from, block->id + from);
    return true;
}

/* The same of all that is looked at. */
static bool visit(const struct block *block, size_t size, bool write)
{
    bool whole = true;
    size_t edge = EDGE, to = 0;
    for (size_t from = 0; from < block->size; from += GRANULE) {
        to = from + (from ? edge : FILLED);
        whole &= visit_part(block, from, to, size, write);
    }
    size_t last = block->size > to + edge ? block->size - edge : to;
    return whole & visit_part(block, last, block->size, size, write);
}

/* ---- operations ---- */

static unsigned refused_before;

static void begin(void)
{
    refused_before = system_refused;
    errno = ERRNO;
}

static void failed(size_t size)
{
    CHECK(errno == ENOMEM);
    CHECK(is_absurd(size) || system_refused != refused_before);
}

/* What a call that began gave for `size` bytes, if anything, is this block. */
static void got(struct block *block, void *p, size_t size, size_t alignment)
{
    if (!p) {
        failed(size);
        return;
    }
    CHECK(errno == ERRNO);
    CHECK(!is_absurd(size));
    CHECK((uintptr_t)p % alignment == 0);
    static uint64_t last_id;
    *block = (struct block){p, size, hz3_malloc_usable_size(p), alignment, last_id += (uint64_t)1 << 32};
    CHECK(block->usable >= size);
    visit(block, size, true);
    live += size;
    if (block->p < lowest) lowest = block->p;
    if (block->p + block->usable > highest) highest = block->p + block->usable;
}

static void release(struct block *block)
{
    if (!block->p) return;
    CHECK(visit(block, block->size, false));
    CHECK(hz3_malloc_usable_size(block->p) == block->usable);
    live -= block->size;
    begin();
    if (block->alignment > ALIGNMENT)
        hz3_free_aligned_sized(block->p, block->alignment, block->size);
    else if (block->size % 2)
        hz3_free_sized(block->p, block->size);
    else
        hz3_free(block->p);
    CHECK(errno == ERRNO);
    block->p = NULL;
}

static struct block *empty_block(size_t size)
{
    struct block *block = take_block();
    release(block);
    return is_absurd(size) || live + size <= LIVE_MAX ? block : NULL;
}

static void do_malloc(void)
{
    size_t size = take_size();
    struct block *block = empty_block(size);
    if (!block) return;
    begin();
    got(block, hz3_malloc(size), size, ALIGNMENT);
}

static void do_calloc(void)
{
    size_t size = take_size();
    struct block *block = empty_block(size);
    if (!block) return;
    begin();
    char *p = hz3_calloc(1, size);
    for (size_t at = 0; p && at < size; at += GRANULE) CHECK(is_zero(p + at, size - at < FILLED ? size - at : FILLED));
    got(block, p, size, ALIGNMENT);
}

static void do_aligned(void)
{
    size_t alignment = (size_t)1 << take(1) % (LARGEST_LOG + 1), size = take_size();
    struct block *block = empty_block(size);
    if (!block) return;
    begin();
    got(block, hz3_aligned_alloc(alignment, size), size, alignment < ALIGNMENT ? ALIGNMENT : alignment);
}

static void do_realloc(void)
{
    struct block *block = take_block(), old = *block;
    size_t size = take_size();
    if (!is_absurd(size) && live - (old.p ? old.size : 0) + size > LIVE_MAX) return;
    if (old.p) CHECK(visit(&old, old.size, false));
    begin();
    char *p = hz3_realloc(old.p, size);
    if (!p && (size || !old.p)) {
        failed(size);
        return;
    }
    live -= old.p ? old.size : 0;
    block->p = NULL;
    if (!p) {
        CHECK(errno == ERRNO);
        return;
    }
    size_t kept = old.size < size ? old.size : size;
    if (old.p) CHECK(visit(&(struct block){.p = p, .size = old.size, .id = old.id}, kept, false));
    got(block, p, size, ALIGNMENT);
}

static void do_free(void)
{
    release(take_block());
}

static void do_make_many(void)
{
    size_t size = take_size(), first = take(2);
    for (size_t i = 0, count = take(1); i <= count && live + size <= LIVE_MAX; i++) {
        struct block *block = &blocks[(first + i) % BLOCKS];
        if (block->p) continue;
        begin();
        got(block, hz3_malloc(size), size, ALIGNMENT);
    }
}

static void do_free_many(void)
{
    size_t first = take(2), step = take(1) + 1;
    for (size_t i = 0; i < MANY; i++) release(&blocks[(first + i * step) % BLOCKS]);
}

static void do_collect(void)
{
    begin();
    hz3_collect(take(1) & 1);
    CHECK(errno == ERRNO);
}

static void do_refuse(void)
{
    system_refuses = take(4);
}

static void do_wait(void)
{
    system_ms += take(2);
}

static bool marked;

static void do_mark(void)
{
    const struct block *block = take_block();
    size_t from = take(1) * PAGE, bytes = (take(1) + 1) * PAGE;
    size_t skipped = -(uintptr_t)block->p % PAGE; /* to the first page that is all the block's */
    if (!block->p || skipped + from + bytes > block->usable) return;
    system_mark(block->p + skipped + from, bytes, true);
    marked = true;
}

/* ---- the actors ---- */

static struct actor {
    pthread_t thread;
    sem_t go, done;
    bool lives, ends;
} actors[ACTORS];

/* Carries out the input until it ends, or says whose turn is next: then returns what it says. */
static unsigned act(void)
{
    static void (*const operations[])(void) = {
        do_malloc,    do_calloc,  do_aligned, do_realloc, do_realloc, do_free, do_make_many,
        do_free_many, do_collect, do_refuse,  do_wait,    do_mark,    NULL,
    };
    while (left) {
        void (*operation)(void) = operations[take(1) % COUNT_OF(operations)];
        if (!operation) return (unsigned)take(1);
        operation();
    }
    return 0;
}

static unsigned turn;

static void *live_as(void *arg)
{
    struct actor *self = arg;
    for (;;) {
        while (sem_wait(&self->go)) {
        }
        if (self->ends) return NULL;
        turn = act();
        sem_post(&self->done);
    }
}

static void let_act(struct actor *actor)
{
    if (actor == actors) {
        turn = act();
        return;
    }
    if (!actor->lives) {
        CHECK(sem_init(&actor->go, 0, 0) == 0 && sem_init(&actor->done, 0, 0) == 0);
        actor->thread = start_thread(live_as, actor);
        actor->lives = true;
    }
    sem_post(&actor->go);
    while (sem_wait(&actor->done)) {
    }
}

static void end(struct actor *actor)
{
    if (!actor->lives) return;
    actor->ends = true;
    sem_post(&actor->go);
    join_thread(actor->thread);
    actor->lives = actor->ends = false;
}

static void free_all(void)
{
    for (struct block *block = blocks; block < blocks + BLOCKS; block++) release(block);
}

static struct hz3_stats stats(void)
{
    struct hz3_stats stats;
    hz3_stats_read(&stats);
    return stats;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input = data;
    left = size;
    turn = 0;
    while (left) {
        let_act(&actors[turn % ACTORS]);
        if (turn & 128) end(&actors[turn / ACTORS % ACTORS]);
    }
    free_all();
    for (struct actor *actor = actors; actor < actors + ACTORS; actor++) end(actor);
    CHECK(stats().allocated == 0);
    if (marked) system_mark((char *)((uintptr_t)lowest & -PAGE), (size_t)(highest - lowest), false);
    marked = false;
    system_refuses = 0;
    system_ms += 10000;
    hz3_collect(true);
    CHECK(stats().dirty == 0);
    return 0;
}
