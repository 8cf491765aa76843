#include "back/fork_reserve.h"

#include "back/free_spans.h"
#include "back/large.h"
#include "back/learn.h"
#include "back/limits.h"
#include "back/large_cache.h"
#include "back/pages.h"
#include "back/range.h"

enum {
    GRANULES = 1024,    /* of address space */
    GRANULES_PAID = 32, /* where mappings count */
    WINDOW_SHIFT = 32,  /* in `next` */
    RENEWAL_SHIFT = 48,
};

/* | renewals: 16 bits | window: 16 bits | the next granule to give: 32 bits |.  Because of the renewals a thread that
 * read the word of an earlier reserve takes nothing from this one.  0: there is none. */
static HZ3_ATOMIC(uint64_t) next;
static HZ3_ATOMIC(uint32_t) end;       /* the first granule beyond the reserve */
struct hz3_lock hz3_fork_reserve_lock; /* a thread that does not get it leaves the work to the holder */
static uint64_t renewals;              /* under that lock */

/* Blocks taken and freed since the last settling, in lists that are emptied whole. */
static HZ3_ATOMIC(struct hz3_span *) taken; /* linked by `newer` */
static HZ3_ATOMIC(struct hz3_span *) freed; /* linked by `older`; each is in `taken`, too, or known to the pool */

static uint32_t granules_left(void)
{
    uint64_t word = hz3_get(next);
    return word ? hz3_get(end) - (uint32_t)word : 0;
}

/* Makes the span the reserve; the pool neither lists nor counts it any more. */
static void set_aside(struct hz3_span *span)
{
    const struct hz3_window *window = hz3_window_of((void *)span->start);
    size_t first = hz3_first_granule(window, span);
    hz3_lock(&hz3_pages_lock);
    hz3_spans_unmake(span);
    hz3_unlock(&hz3_pages_lock);
    hz3_set(end, (uint32_t)first + span->granules);
    hz3_store(next, ++renewals << RENEWAL_SHIFT | (uint64_t)(window - hz3_windows) << WINDOW_SHIFT | first,
              memory_order_release);
}

/* Gives the rest of the reserve back to the pool, unmapped: nobody touched it, and mappings may cost something.
 * If another thread forks as well, others may be about to take from it; they cannot once the word is exchanged. */
static void give_back_rest(void)
{
    uint64_t word = hz3_exchange(next, 0, memory_order_acq_rel);
    uint32_t first = (uint32_t)word, rest = word ? hz3_get(end) - first : 0;
    if (!rest) return;
    struct hz3_window *window = &hz3_windows[(word >> WINDOW_SHIFT) & 0xffff];
    uintptr_t start = window->base + ((uintptr_t)first << HZ3_GRANULE_SHIFT);
    size_t bytes = (size_t)rest << HZ3_GRANULE_SHIFT;
    bool unmapped = !window->reserved && hz3_os_unmap(start, bytes);
    if (unmapped) hz3_range_drop_edges(start, bytes);
    hz3_lock(&hz3_pages_lock);
    hz3_spans_file(window, first, rest, unmapped ? HZ3_SPAN_UNMAPPED : HZ3_SPAN_CLEAN, 0);
    hz3_unlock(&hz3_pages_lock);
}

size_t hz3_fork_reserve_bytes(void)
{
    return (size_t)granules_left() << HZ3_GRANULE_SHIFT;
}

void hz3_fork_reserve_fill(void)
{
    hz3_learn();
    uint32_t granules = hz3_pages_mapped_counts() ? GRANULES_PAID : GRANULES;
    if (granules_left() > granules / 2 || !hz3_trylock(&hz3_fork_reserve_lock)) return;
    give_back_rest();
    struct hz3_span *span = hz3_pages_alloc_untouched(granules);
    if (span) set_aside(span);
    hz3_unlock(&hz3_fork_reserve_lock);
}

void hz3_fork_reserve_empty(void)
{
    if (!hz3_trylock(&hz3_fork_reserve_lock)) return;
    give_back_rest();
    hz3_unlock(&hz3_fork_reserve_lock);
}

void *hz3_fork_reserve_take(size_t size, size_t alignment)
{
    size_t granules = hz3_large_granules(size);
    uint64_t word = hz3_load(next, memory_order_acquire);
    do {
        if (!word || alignment > HZ3_GRANULE || (uint32_t)word + granules > hz3_get(end)) return NULL;
    } while (!hz3_cas_weak(next, &word, word + granules, memory_order_acquire, memory_order_acquire));
    struct hz3_window *window = &hz3_windows[(word >> WINDOW_SHIFT) & 0xffff];
    struct hz3_span *span = &window->spans[(uint32_t)word];
    span->start = window->base + ((uintptr_t)(uint32_t)word << HZ3_GRANULE_SHIFT);
    span->granules = (uint32_t)granules;
    span->zeroed = true;
    hz3_large_begin(span, size);
    void *p = (void *)span->start;
    hz3_push(taken, span, span->in_reserve.newer);
    return p;
}

void hz3_fork_reserve_put(void *p)
{
    struct hz3_span *span = hz3_span_at(p);
    hz3_large_end(span);
    hz3_push(freed, span, span->in_reserve.older);
}

void hz3_fork_reserve_settle(void)
{
    if (likely(!hz3_get(taken) && !hz3_get(freed))) return;
    /* Under the lock: a thread that finds the lists empty and goes on to the pool waits until all is counted. */
    hz3_lock(&hz3_pages_lock);
    struct hz3_span *gone = hz3_exchange(freed, NULL, memory_order_acquire), *after;
    struct hz3_span *span = hz3_exchange(taken, NULL, memory_order_acquire); /* second: these were taken before */
    for (; span; span = after) {
        after = span->in_reserve.newer;
        hz3_spans_make_last(span, HZ3_SPAN_LARGE);
    }
    hz3_unlock(&hz3_pages_lock);
    for (; gone; gone = after) {
        after = gone->in_reserve.older;
        hz3_large_cache_put(gone);
    }
}
