/* An input is a program for the allocator.  Its operations are one byte each, with operands, and four threads carry
 * them out in turn.  The input also says which system calls are refused, and when time passes.  For any input:
 *
 *     A block is aligned, and keeps its content until it is freed, up to its usable size and when it is resized.
 *     calloc's blocks are zero.
 *     A call fails only if the system refused memory meanwhile, with ENOMEM, and changes nothing then.  Shrinking does
 * not fail.  Success leaves errno alone.  Once everything is freed and collected, there is no run, no cached object,
 * and no free page that is kept.
 *
 * A block's expected content is kept beside it, never in it. */
#include <errno.h>
#include <semaphore.h>
#include <string.h>

#include "hz3.h"
#include "os/os.h"
#include "support.h"
#include "system.h"
#include "watch/stats.h"

enum {
    ACTORS = 4, /* the first is the thread that runs the input */
    BLOCKS = 4096,
    FREED_AT_ONCE = 256,
    LARGEST_LOG = 22,
    ERRNO = 1234,
};
#define LIVE_MAX  MIB(64)
#define MOVES_MIN KIB(512) /* as in back/large: blocks of this size and larger are moved, not copied */

static struct block {
    char *p;
    size_t size, usable, alignment;
    uint64_t id; /* its last 32 bits are 0 */
} blocks[BLOCKS];
static size_t live;                                  /* bytes */
static char *lowest = (char *)UINTPTR_MAX, *highest; /* that any block ever reached */

/* ---- the input ---- */

static const uint8_t *input;
static size_t left;

/* The next number of so many bytes.  Bytes beyond the input's end are 0. */
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

/* The first live block from there on with at least `least` usable bytes, or NULL. */
static struct block *take_live(size_t least)
{
    size_t from = take(2);
    for (size_t i = 0; i < BLOCKS; i++) {
        struct block *block = &blocks[(from + i) % BLOCKS];
        if (block->p && block->usable >= least) return block;
    }
    return NULL;
}

/* A size close to a power of two, or evenly distributed between two; often a small one; 0; or one that is too large. */
static size_t take_size(void)
{
    enum { ZERO = 29, MOST, HALF };
    unsigned kind = (unsigned)take(1), log = kind % 32;
    uint64_t more = take(2);
    if (log == ZERO) return 0;
    if (log == MOST) return SIZE_MAX - more;
    if (log == HALF) return (size_t)PTRDIFF_MAX + more;
    if (log > LARGEST_LOG) return more;
    size_t from = (size_t)1 << log;
    return kind & 128 ? from + (more & 15) - hz3_min(from, 8) : from + (from * more >> 16);
}

static bool is_absurd(size_t size)
{
    return size > MIB(1) << 10;
}

/* ---- the content of blocks ---- */

static size_t step_of(const struct block *block)
{
    return block->usable <= HZ3_GRANULE ? hz3_os.page : HZ3_GRANULE;
}

static bool holds(const struct block *block, size_t kept)
{
    return is_filled_sparsely(block->p, block->usable, step_of(block), block->id, kept);
}

/* ---- operations ---- */

static unsigned before;

static void begin(void)
{
    before = system_had_no_room;
    errno = ERRNO;
}

static void failed(size_t size)
{
    CHECK(errno == ENOMEM);
    CHECK(is_absurd(size) || system_had_no_room != before);
}

/* Checks and records the result p of a call for `size` bytes, as this block. */
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
    fill_sparsely(p, block->usable, step_of(block), block->id);
    live += block->usable;
    if (block->p < lowest) lowest = block->p;
    if (block->p + block->usable > highest) highest = block->p + block->usable;
}

static void release(struct block *block)
{
    if (!block->p) return;
    CHECK(holds(block, block->usable));
    CHECK(hz3_malloc_usable_size(block->p) == block->usable);
    live -= block->usable;
    begin();
    if (block->alignment > HZ3_UNIT)
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
    got(block, hz3_malloc(size), size, HZ3_UNIT);
}

static void do_calloc(void)
{
    size_t size = take_size();
    struct block *block = empty_block(size);
    if (!block) return;
    begin();
    char *p = hz3_calloc(is_absurd(size) ? 2 : 1, size); /* the product wraps */
    for (size_t at = 0; p && at < size; at += HZ3_GRANULE) CHECK(is_zero(p + at, hz3_min(size - at, KIB(4))));
    got(block, p, size, HZ3_UNIT);
}

static void do_aligned(void)
{
    size_t alignment = (size_t)1 << take(1) % (LARGEST_LOG + 1), size = take_size();
    struct block *block = empty_block(size);
    if (!block) return;
    begin();
    got(block, hz3_aligned_alloc(alignment, size), size, hz3_max(alignment, HZ3_UNIT));
}

static void resize(struct block *block, size_t size)
{
    struct block old = *block;
    size_t had = old.p ? old.usable : 0;
    if (!is_absurd(size) && live - had + size > LIVE_MAX) return;
    CHECK(holds(&old, had));
    begin();
    char *p = hz3_realloc(old.p, size);
    if (!p && (size || !old.p)) {
        CHECK(size > had || !old.p);
        failed(size);
        return;
    }
    live -= had;
    block->p = NULL;
    if (!p) {
        CHECK(errno == ERRNO);
        return;
    }
    old.p = p;
    CHECK(holds(&old, hz3_min(had, size)));
    got(block, p, size, HZ3_UNIT);
}

static void do_realloc(void)
{
    struct block *block = take_live(0);
    resize(block ? block : blocks, take_size());
}

static void do_grow(void)
{
    struct block *block = take_live(MOVES_MIN);
    size_t share = take(1);
    if (block) resize(block, block->usable + block->usable * share / 128);
}

static void do_free(void)
{
    struct block *block = take_live(0);
    if (block) release(block);
}

static void do_make_many(void)
{
    size_t size = take_size(), first = take(2);
    for (size_t i = 0, count = take(1); i <= count && !is_absurd(size) && live + size <= LIVE_MAX; i++) {
        struct block *block = &blocks[(first + i) % BLOCKS];
        if (block->p) continue;
        begin();
        got(block, hz3_malloc(size), size, HZ3_UNIT);
    }
}

static void do_free_many(void)
{
    size_t first = take(2), step = take(1) + 1;
    for (size_t i = 0; i < FREED_AT_ONCE; i++) release(&blocks[(first + i * step) % BLOCKS]);
}

static void do_collect(void)
{
    begin();
    hz3_collect(take(1) & 1);
    CHECK(errno == ERRNO);
}

static void do_refuse(void)
{
    system_refuses = (uint32_t)take(4);
}

static void do_wait(void)
{
    system_ms += take(2);
}

static bool marked;

static void do_mark(void)
{
    const struct block *block = take_live(MOVES_MIN);
    size_t from = take(1) * hz3_os.page, bytes = (take(1) + 1) * hz3_os.page;
    if (!block) return;
    from %= block->usable;
    system_mark(block->p + from, hz3_min(bytes, block->usable - from), true);
    marked = true;
}

/* ---- the actors ---- */

static struct actor {
    pthread_t thread;
    sem_t go, done;
    bool lives, ends;
} actors[ACTORS];

/* Carries out the input until it ends, or until it names the next thread.  Returns what it says about that (turn). */
static unsigned act(void)
{
    static void (*const operations[])(void) = {
        do_malloc,    do_calloc,    do_aligned, do_realloc, do_grow, do_grow, do_free,
        do_make_many, do_free_many, do_collect, do_refuse,  do_wait, do_mark, NULL,
    };
    while (left) {
        void (*operation)(void) = operations[take(1) % COUNT_OF(operations)];
        if (!operation) return (unsigned)take(1);
        operation();
    }
    return 0;
}

static unsigned turn; /* bits 0, 1: the next thread.  If bit 7 is set, the thread in bits 2, 3 ends first */

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

static void check_nothing_left(void)
{
    struct hz3_stats stats;
    hz3_collect(true);
    hz3_stats_read(&stats);
    CHECK(stats.allocated == 0);
    CHECK(stats.active == 0);
    CHECK(stats.cached == 0);
    CHECK(stats.dirty == 0);
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
    if (marked) system_mark((char *)((uintptr_t)lowest & -hz3_os.page), (size_t)(highest - lowest), false);
    marked = false;
    system_refuses = 0;
    system_ms += 10000; /* so that hz3 repeats calls that were refused */
    check_nothing_left();
    return 0;
}
