#include "back/states.h"

#include "back/free_spans.h"
#include "back/huge_pages.h"
#include "back/range.h"
#include "back/vma_edges.h"

enum { PARTS_SHIFT = 6 }; /* parts to a doubling */

struct part {
    size_t first, end; /* granules */
};

static struct part part_of(const struct hz3_window *window, unsigned table, size_t granule)
{
    unsigned doubling = 63 - (unsigned)__builtin_clzll(granule | 1);
    unsigned least = hz3_state_table_shift(table); /* so many bits of granules have a granule of state bytes */
    size_t granules = (size_t)1 << (hz3_max(doubling, least + PARTS_SHIFT) - PARTS_SHIFT), first = granule & -granules;
    return (struct part){first, hz3_min(first + granules, window->bytes >> HZ3_GRANULE_SHIFT)};
}

static HZ3_ATOMIC(uint8_t) * mark_of(const struct hz3_window *window, struct part part)
{
    return &window->spans[part.first].states;
}

/* Acquire, paired with the release of map_part. */
static bool is_mapped(const struct hz3_window *window, unsigned table, struct part part)
{
    return hz3_load(*mark_of(window, part), memory_order_acquire) >> table & 1;
}

/* Where the state bytes of the granule lie. */
static uintptr_t states_at(const struct hz3_window *window, unsigned table, size_t granule)
{
    return (uintptr_t)hz3_state_at(window->base + (granule << HZ3_GRANULE_SHIFT), hz3_state_table_shift(table));
}

/* Unmaps `bytes` of free spans, so that as much may be mapped if the process has mapped all it may. */
static bool give_way(size_t bytes)
{
    for (size_t left = bytes >> HZ3_GRANULE_SHIFT; left; left--) {
        struct hz3_span *span = hz3_spans_find(HZ3_SPAN_DIRTY, 1, 1);
        if (!span) span = hz3_spans_find(HZ3_SPAN_CLEAN, 1, 1);
        if (!span) return false;
        struct hz3_window *window = hz3_window_of((void *)span->start);
        span = hz3_spans_cut(span, hz3_first_granule(window, span), 1, HZ3_SPAN_LARGE);
        bool unmapped = !window->reserved && hz3_os_unmap(span->start, HZ3_GRANULE);
        if (unmapped) hz3_vma_edges_drop(span->start, HZ3_GRANULE);
        hz3_spans_refile(span, unmapped ? HZ3_SPAN_UNMAPPED : HZ3_SPAN_DIRTY, (uint32_t)hz3_os_now_ms());
        if (!unmapped) return false;
    }
    return true;
}

static enum hz3_map_result map_part(struct hz3_window *window, unsigned table, struct part part)
{
    if (is_mapped(window, table, part)) return HZ3_MAPPED; /* by another thread, meanwhile */
    uintptr_t at = states_at(window, table, part.first);
    size_t bytes = hz3_round_up(states_at(window, table, part.end) - at, HZ3_GRANULE);
    bool reserved = window->reserved && window == &hz3_windows[0];
    enum hz3_map_result result = reserved ? hz3_os_map_reserved(at, bytes) : hz3_os_map_at(at, bytes);
    if (result == HZ3_MAP_NOMEM && !reserved && give_way(bytes)) result = hz3_os_map_at(at, bytes);
    if (result != HZ3_MAPPED) return result;
    hz3_huge_pages_refuse(at, at + bytes);
    hz3_os_dump(at, bytes, false); /* most are zeros, and what else is known of objects says nearly the same */
    window->state_bytes += bytes;
    HZ3_ATOMIC(uint8_t) *mark = mark_of(window, part);
    hz3_store(*mark, (uint8_t)(hz3_get(*mark) | 1u << table), memory_order_release);
    return HZ3_MAPPED;
}

enum hz3_map_result hz3_states_cover(const struct hz3_span *span, unsigned cls)
{
    if (!hz3_state_tables) return HZ3_MAPPED;
    struct hz3_window *window = hz3_window_of((void *)span->start);
    size_t granule = hz3_first_granule(window, span), end = granule + span->granules;
    unsigned table = hz3_state_table(cls);
    for (struct part part; granule < end; granule = part.end) {
        part = part_of(window, table, granule);
        if (likely(is_mapped(window, table, part))) continue;
        hz3_lock(&hz3_pages_lock);
        enum hz3_map_result result = map_part(window, table, part);
        hz3_unlock(&hz3_pages_lock);
        if (result != HZ3_MAPPED) return result;
    }
    return HZ3_MAPPED;
}

/* Visits the mapped state bytes of granules [first, end), each contiguous stretch once. */
static void each_mapped(const struct hz3_window *window, unsigned table, size_t first, size_t end,
                        void (*visit)(uintptr_t from, uintptr_t to))
{
    size_t from = first;
    for (struct part part; first < end; first = part.end) {
        part = part_of(window, table, first);
        bool mapped = is_mapped(window, table, part);
        if (mapped && part.end < end) continue;
        size_t to = mapped ? end : first;
        if (to > from) visit(states_at(window, table, from), states_at(window, table, to));
        from = part.end;
    }
}

void hz3_states_purge(const struct hz3_window *window, size_t first, size_t end)
{
    for (unsigned table = 0; table < hz3_state_tables; table++)
        each_mapped(window, table, first, end, hz3_range_purge_whole_pages);
}

void hz3_states_advise(void)
{
    for (uint32_t i = 0; i < hz3_get(hz3_window_count); i++) {
        const struct hz3_window *window = &hz3_windows[i];
        size_t used = hz3_min(window->frontier, window->spans_mapped);
        for (unsigned table = 0; used && table < hz3_state_tables; table++)
            each_mapped(window, table, 0, part_of(window, table, used - 1).end, hz3_huge_pages_refuse);
    }
}
