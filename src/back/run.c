#include "back/run.h"

#include "back/gauges.h"
#include "back/huge_pages.h"
#include "back/pages.h"
#include "back/range.h"
#include "back/states.h"
#include "base/check.h"
#include "base/sizeclass.h"
#include HZ3_FREE_CHECK_H

enum { WORD = 64 };

/* The lowest bit that is set. */
static unsigned lowest(uint64_t bits)
{
    return (unsigned)__builtin_ctzll(bits);
}

static size_t index_at(size_t offset, unsigned cls)
{
    return offset * hz3_class_info[cls].magic >> 40;
}

size_t hz3_run_index(const struct hz3_span *run, const void *p)
{
    return index_at((uintptr_t)p - run->start, run->cls);
}

/* The bitmap of the run's retired objects. */
HZ3_INLINE HZ3_ATOMIC(uint64_t) * free_words(struct hz3_span *run)
{
    if (hz3_class_info[run->cls].objects <= WORD) return &run->free;
    struct hz3_window *window = hz3_window_of((void *)run->start);
    return window->free[hz3_first_granule(window, run)];
}

const void *hz3_run_slot(const struct hz3_span *run, const void *p)
{
    return (const void *)(run->start + hz3_run_index(run, p) * hz3_class_size(run->cls));
}

static bool starts(const struct hz3_span *run, size_t i, const void *p)
{
    return i < hz3_get(run->bump) && run->start + i * hz3_class_size(run->cls) == (uintptr_t)p;
}

bool hz3_run_is_object(const struct hz3_span *run, const void *p)
{
    return starts(run, hz3_run_index(run, p), p);
}

bool hz3_run_is_slot(const struct hz3_span *run, const void *p)
{
    return hz3_run_index(run, p) < hz3_class_info[run->cls].objects && hz3_run_slot(run, p) == p;
}

static void count(const struct hz3_span *run, bool more)
{
    if (run->granules == 1) hz3_gauge_add(HZ3_GAUGE_SMALL, more ? HZ3_GRANULE : -(size_t)HZ3_GRANULE);
}

/* A span with its state bytes. */
static struct hz3_span *take_span(unsigned cls)
{
    for (struct hz3_span *span; (span = hz3_pages_alloc(hz3_class_info[cls].granules, 1, HZ3_SPAN_RUN));) {
        enum hz3_map_result result = hz3_states_cover(span, cls);
        if (likely(result == HZ3_MAPPED)) return span;
        if (result == HZ3_MAP_NOMEM) {
            hz3_pages_free(span);
            return NULL;
        }
        hz3_pages_leave(span); /* somebody else's mapping is where they would be */
    }
    return NULL;
}

struct hz3_span *hz3_run_new(unsigned cls, unsigned owner)
{
    const struct hz3_class_info *info = &hz3_class_info[cls];
    struct hz3_span *run = take_span(cls);
    if (!run) return NULL;
    hz3_mark_fresh(run, cls);
    run->cls = (uint8_t)cls;
    run->owner = (uint8_t)owner;
    hz3_set(run->live, 0);
    HZ3_ATOMIC(uint64_t) *words = free_words(run);
    for (unsigned w = 0; w < (info->objects + WORD - 1u) / WORD; w++) hz3_set(words[w], 0);
    for (unsigned i = 1; i < info->granules; i++) run[i].start = run->start;
    hz3_map_tag(run->start, run->granules, cls, owner);
    count(run, true);
    return run;
}

void hz3_run_give(struct hz3_span *run, unsigned owner)
{
    run->owner = (uint8_t)owner;
    hz3_map_own(run->start, run->granules, owner);
}

void hz3_run_free(struct hz3_span *run)
{
    hz3_assert(hz3_get(run->live) == 0);
    count(run, false);
    hz3_pages_give_up(run);
}

static unsigned take_retired(struct hz3_span *run, void **objects, unsigned want)
{
    size_t size = hz3_class_size(run->cls);
    HZ3_ATOMIC(uint64_t) *words = free_words(run);
    unsigned got = 0, bump = hz3_get(run->bump);
    for (size_t w = 0; w * WORD < bump && got < want; w++) {
        uint64_t bits = hz3_get(words[w]), left = bits;
        uintptr_t first = run->start + w * WORD * size;
        for (; left && got < want; left &= left - 1) objects[got++] = (void *)(first + lowest(left) * size);
        /* Acquire, paired with the release of a retire: the last use of the object comes before its next. */
        if (bits != left) hz3_fetch_and(words[w], ~(bits ^ left), memory_order_acquire);
    }
    return got;
}

unsigned hz3_run_take(struct hz3_span *run, void **objects, unsigned want)
{
    const struct hz3_class_info *info = &hz3_class_info[run->cls];
    unsigned got = 0, bump = hz3_get(run->bump);
    if (bump > hz3_get(run->live)) got = take_retired(run, objects, want);
    unsigned fresh = hz3_min(want - got, info->objects - bump);
    size_t size = info->size;
    uintptr_t at = run->start + bump * size;
    for (unsigned all = got + fresh; got < all; at += size) objects[got++] = (void *)at;
    hz3_set(run->bump, (uint16_t)(bump + fresh));
    if (HZ3_SECURE) hz3_fresh_prepare(run, objects, got, fresh);
    hz3_add(run->live, got);
    return got;
}

void hz3_run_expect_retire(const void *p, unsigned cls)
{
    struct hz3_window *window = hz3_window_of(p);
    size_t granule = hz3_granule_of(window, p);
    __builtin_prefetch(&window->spans[granule], 1);
    if (hz3_class_info[cls].objects <= WORD) return;
    size_t i = index_at((uintptr_t)p & (HZ3_GRANULE - 1), cls);
    __builtin_prefetch(&window->free[granule][i / WORD], 1);
}

/* Sets the bits of retired objects in a word of the bitmap. */
static void retire_word(struct hz3_span *run, size_t word, uint64_t bits, bool held)
{
    HZ3_ATOMIC(uint64_t) *free = &free_words(run)[word];
    uint64_t was = hz3_get(*free);
    if (held)
        was = hz3_fetch_or(*free, bits, memory_order_release);
    else
        hz3_set(*free, was | bits);
    size_t twice = word * WORD + (was & bits ? lowest(was & bits) : 0);
    if (unlikely(was & bits)) hz3_misuse("double free", (void *)(run->start + twice * hz3_class_size(run->cls)));
}

/* Retires the objects that follow the first one in turn, each by a `step` of one object up or down, as far as they are
 * in its word. */
HZ3_NOINLINE static unsigned retire_row(struct hz3_span *run, void *const *objects, unsigned n, size_t step, bool held)
{
    size_t i = hz3_run_index(run, objects[0]), bit = i % WORD;
    bool down = step != hz3_class_size(run->cls);
    if (unlikely(!starts(run, i, objects[0]))) hz3_misuse("interior pointer freed", objects[0]);
    size_t most = hz3_min(n, down ? bit + 1 : hz3_min(WORD - bit, hz3_get(run->bump) - i));
    unsigned row = 1;
    while (row < most && (uintptr_t)objects[row] - (uintptr_t)objects[row - 1] == step) row++;
    retire_word(run, i / WORD, ~(uint64_t)0 >> (WORD - row) << (down ? bit + 1 - row : bit), held);
    return row;
}

static unsigned retire_each(struct hz3_span *run, void *const *objects, unsigned n, bool held)
{
    const uintptr_t start = run->start;
    const size_t bytes = hz3_span_bytes(run), size = hz3_class_size(run->cls), bump = hz3_get(run->bump);
    const unsigned cls = run->cls;
    size_t word = 0;
    uint64_t bits = 0;
    unsigned done = 0;
    for (; done < n; done++) {
        size_t offset = (uintptr_t)objects[done] - start, i;
        if (offset >= bytes) break;
        i = index_at(offset, cls);
        if (unlikely(i >= bump || i * size != offset)) hz3_misuse("interior pointer freed", objects[done]);
        if (i / WORD != word) {
            if (bits) retire_word(run, word, bits, held);
            word = i / WORD;
            bits = 0;
        }
        uint64_t bit = (uint64_t)1 << i % WORD;
        if (unlikely(bits & bit)) hz3_misuse("double free", objects[done]);
        bits |= bit;
    }
    if (bits) retire_word(run, word, bits, held);
    return done;
}

unsigned hz3_run_retire(struct hz3_span *run, void *const *objects, unsigned n, bool held)
{
    const size_t size = hz3_class_size(run->cls), bytes = hz3_span_bytes(run);
    unsigned done = 0;
    do {
        void *const *at = objects + done;
        unsigned left = n - done;
        size_t step = left > 1 ? (uintptr_t)at[1] - (uintptr_t)at[0] : 0;
        bool in_a_row = step == size || step == -size;
        done += in_a_row ? retire_row(run, at, left, step, held) : retire_each(run, at, left, held);
    } while (done < n && (uintptr_t)objects[done] - run->start < bytes);
    if (held)
        hz3_sub(run->live, done);
    else
        hz3_set(run->live, hz3_get(run->live) - done);
    return done;
}

/* Purges what lies between, rounded inward to multiples of `step` bytes; returns the bytes. */
static size_t purge_gap(uintptr_t from, uintptr_t to, size_t step)
{
    from = hz3_round_up(from, step);
    to &= ~(step - 1);
    return to > from && hz3_range_purge(from, to - from) ? to - from : 0;
}

size_t hz3_run_purge(struct hz3_span *run, bool break_huge_pages)
{
    size_t huge_page = hz3_huge_page_at(run->start), step = huge_page && !break_huge_pages ? huge_page : hz3_os.page;
    size_t size = hz3_class_size(run->cls), purged = 0;
    uintptr_t from = run->start;
    HZ3_ATOMIC(uint64_t) *words = free_words(run);
    unsigned bump = hz3_get(run->bump);
    for (unsigned w = 0; w * WORD < bump; w++) {
        uint64_t live = ~hz3_get(words[w]);
        if (bump - w * WORD < WORD) live &= ((uint64_t)1 << (bump - w * WORD)) - 1;
        for (; live; live &= live - 1) {
            uintptr_t object = run->start + (w * WORD + lowest(live)) * size;
            purged += purge_gap(from, object, step);
            from = object + size;
        }
    }
    return purged + purge_gap(from, run->start + hz3_span_bytes(run), step);
}
