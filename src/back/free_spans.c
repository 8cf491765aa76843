#include "back/free_spans.h"

#include "back/gauges.h"
#include "base/check.h"

enum {
    EXACT_LISTS = 63, /* spans of 1..63 granules; above, 4 lists per doubling */
    LISTS = EXACT_LISTS + 4 * 21,
    FIT_TRIES = 16, /* spans looked at in a list whose spans may be too small, or too far from an aligned address */
    KINDS = HZ3_SPAN_UNMAPPED + 1,
};

HZ3_TOGETHER HZ3_CACHE_ALIGNED struct hz3_lock hz3_pages_lock;
static struct hz3_span *lists[KINDS][LISTS];
static uint64_t filled_lists[KINDS][(LISTS + 63) / 64]; /* bit: the list holds a span */
static struct hz3_span *oldest, *newest;                /* dirty spans by age */

static enum hz3_gauge gauge_of(enum hz3_span_kind kind)
{
    switch (kind) {
    case HZ3_SPAN_DIRTY: return HZ3_GAUGE_DIRTY;
    case HZ3_SPAN_CLEAN: return HZ3_GAUGE_CLEAN;
    case HZ3_SPAN_GUARD:
    case HZ3_SPAN_WAITING:
    case HZ3_SPAN_UNMAPPED: return HZ3_GAUGE_UNMAPPED;
    default: return HZ3_GAUGE_USED;
    }
}

static void count(const struct hz3_span *span, bool more)
{
    size_t change = more ? hz3_span_bytes(span) : -hz3_span_bytes(span);
    hz3_gauge_add_locked(gauge_of((enum hz3_span_kind)span->kind), change);
    if (span->kind == HZ3_SPAN_PURGING) hz3_gauge_add_locked(HZ3_GAUGE_PURGING, change);
    if (span->kind == HZ3_SPAN_GUARD) hz3_gauge_add_locked(HZ3_GAUGE_GUARDS, change);
    if (span->kind == HZ3_SPAN_UNMAPPED) hz3_gauge_add_locked(HZ3_GAUGE_HOLES, more ? 1 : (size_t)-1);
}

/* ---- lists by size ---- */

static unsigned list_of(size_t granules)
{
    if (granules <= EXACT_LISTS) return (unsigned)granules - 1;
    unsigned log = 63 - (unsigned)__builtin_clzll(granules);
    return hz3_min(EXACT_LISTS + (log - 6) * 4 + (unsigned)(granules >> (log - 2) & 3), LISTS - 1);
}

static void list_insert(struct hz3_span *span)
{
    unsigned list = list_of(span->granules);
    struct hz3_span **head = &lists[span->kind][list];
    span->in_pool.prev = NULL;
    span->in_pool.next = *head;
    if (*head) (*head)->in_pool.prev = span;
    *head = span;
    filled_lists[span->kind][list / 64] |= (uint64_t)1 << list % 64;
}

static void list_remove(struct hz3_span *span)
{
    unsigned list = list_of(span->granules);
    if (span->in_pool.next) span->in_pool.next->in_pool.prev = span->in_pool.prev;
    if (span->in_pool.prev) {
        span->in_pool.prev->in_pool.next = span->in_pool.next;
    } else if (!(lists[span->kind][list] = span->in_pool.next)) {
        filled_lists[span->kind][list / 64] &= ~((uint64_t)1 << list % 64);
    }
}

/* The first list from this one on that holds a span, or LISTS. */
static unsigned next_filled(enum hz3_span_kind kind, unsigned list)
{
    for (unsigned word = list / 64; word < (LISTS + 63) / 64; word++) {
        uint64_t filled = filled_lists[kind][word];
        if (word == list / 64) filled &= ~(uint64_t)0 << list % 64;
        if (filled) return word * 64 + (unsigned)__builtin_ctzll(filled);
    }
    return LISTS;
}

struct hz3_span *hz3_spans_find(enum hz3_span_kind kind, size_t granules, size_t align)
{
    for (unsigned list = list_of(granules); (list = next_filled(kind, list)) < LISTS; list++) {
        struct hz3_span *span = lists[kind][list];
        for (int i = 0; span && i < FIT_TRIES; i++, span = span->in_pool.next)
            if (hz3_spans_aligned_start(span, align) + (granules << HZ3_GRANULE_SHIFT) <=
                span->start + hz3_span_bytes(span))
                return span;
    }
    return NULL;
}

struct hz3_span *hz3_spans_of_size(enum hz3_span_kind kind, size_t granules)
{
    hz3_assert(granules <= EXACT_LISTS);
    return lists[kind][list_of(granules)];
}

struct hz3_span *hz3_spans_idle(enum hz3_span_kind kind, size_t granules, uint32_t age, uint32_t now)
{
    for (unsigned list = list_of(granules); (list = next_filled(kind, list)) < LISTS; list++)
        for (struct hz3_span *span = lists[kind][list]; span; span = span->in_pool.next)
            if (span->granules >= granules && hz3_ms_passed(span->in_pool.since, age, now) &&
                !hz3_window_of((void *)span->start)->reserved)
                return span;
    return NULL;
}

size_t hz3_spans_count(enum hz3_span_kind kind)
{
    size_t spans = 0;
    for (unsigned list = 0; (list = next_filled(kind, list)) < LISTS; list++)
        for (const struct hz3_span *span = lists[kind][list]; span; span = span->in_pool.next) spans++;
    return spans;
}

/* ---- the age list ---- */

static void age_append(struct hz3_span *span)
{
    span->in_pool.aging = true;
    span->in_pool.newer = NULL;
    span->in_pool.older = newest;
    *(newest ? &newest->in_pool.newer : &oldest) = span;
    newest = span;
}

static void age_remove(struct hz3_span *span)
{
    span->in_pool.aging = false;
    *(span->in_pool.older ? &span->in_pool.older->in_pool.newer : &oldest) = span->in_pool.newer;
    *(span->in_pool.newer ? &span->in_pool.newer->in_pool.older : &newest) = span->in_pool.older;
}

struct hz3_span *hz3_spans_oldest(void)
{
    return oldest;
}

/* ---- making and filing ---- */

struct hz3_span *hz3_spans_make(struct hz3_window *window, size_t first, size_t granules, enum hz3_span_kind kind)
{
    struct hz3_span *span = &window->spans[first];
    span->start = window->base + (first << HZ3_GRANULE_SHIFT);
    span->granules = (uint32_t)granules;
    span->kind = (uint8_t)kind;
    if (kind == HZ3_SPAN_RUN) hz3_set(span->bump, 0);
    if (kind <= HZ3_SPAN_UNMAPPED && granules > 1) {
        span[granules - 1].start = span->start;
        span[granules - 1].kind = (uint8_t)kind;
    }
    count(span, true);
    return span;
}

void hz3_spans_make_last(struct hz3_span *span, enum hz3_span_kind kind)
{
    span->kind = (uint8_t)kind;
    count(span, true);
}

void hz3_spans_unmake(struct hz3_span *span)
{
    enum hz3_span_kind kind = (enum hz3_span_kind)span->kind;
    hz3_assert(kind != HZ3_SPAN_NONE);
    count(span, false);
    if (kind <= HZ3_SPAN_UNMAPPED) {
        list_remove(span);
        if (kind == HZ3_SPAN_DIRTY) age_remove(span);
        span[span->granules - 1].kind = HZ3_SPAN_NONE;
    }
    span->kind = HZ3_SPAN_NONE;
}

struct hz3_span *hz3_spans_neighbour(struct hz3_window *window, size_t granule, enum hz3_span_kind kind)
{
    /* True for the index before granule 0, too, and for granules beyond a window that ended early. */
    if (granule >= hz3_min(window->frontier, window->spans_mapped)) return NULL;
    struct hz3_span *span = &window->spans[granule];
    return span->kind == kind ? &window->spans[(span->start - window->base) >> HZ3_GRANULE_SHIFT] : NULL;
}

struct hz3_span *hz3_spans_file(struct hz3_window *window, size_t first, size_t granules, enum hz3_span_kind kind,
                                uint32_t since)
{
    bool hole = kind == HZ3_SPAN_UNMAPPED && !window->reserved; /* in a reservation a guard stays mapped */
    struct hz3_span *guard = hole ? hz3_spans_neighbour(window, first - 1, HZ3_SPAN_GUARD) : NULL;
    if (guard) {
        hz3_spans_unmake(guard);
        first--;
        granules++;
    }
    struct hz3_span *left = hz3_spans_neighbour(window, first - 1, kind);
    struct hz3_span *right = hz3_spans_neighbour(window, first + granules, kind);
    size_t largest = granules; /* the largest part's age is the whole's */
    if (left) {
        if (left->granules > largest) since = left->in_pool.since, largest = left->granules;
        first -= left->granules;
        granules += left->granules;
        hz3_spans_unmake(left);
    }
    if (right) {
        if (right->granules > largest) since = right->in_pool.since;
        granules += right->granules;
        hz3_spans_unmake(right);
    }
    struct hz3_span *span = hz3_spans_make(window, first, granules, kind);
    span->in_pool.since = since;
    list_insert(span);
    if (kind == HZ3_SPAN_DIRTY) age_append(span);
    return span;
}

void hz3_spans_refile(struct hz3_span *span, enum hz3_span_kind kind, uint32_t since)
{
    struct hz3_window *window = hz3_window_of((void *)span->start);
    size_t first = hz3_first_granule(window, span), granules = span->granules;
    hz3_spans_unmake(span);
    hz3_spans_file(window, first, granules, kind, since);
}

struct hz3_span *hz3_spans_cut(struct hz3_span *span, size_t first, size_t granules, enum hz3_span_kind kind)
{
    struct hz3_window *window = hz3_window_of((void *)span->start);
    size_t from = hz3_first_granule(window, span), to = from + span->granules;
    enum hz3_span_kind was = (enum hz3_span_kind)span->kind;
    uint32_t since = span->in_pool.since;
    hz3_spans_unmake(span);
    struct hz3_span *got = hz3_spans_make(window, first, granules, kind);
    got->zeroed = was != HZ3_SPAN_DIRTY;
    if (first > from) hz3_spans_file(window, from, first - from, was, since);
    if (first + granules < to) hz3_spans_file(window, first + granules, to - first - granules, was, since);
    return got;
}
