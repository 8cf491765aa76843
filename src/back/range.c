#include "back/range.h"

#include "back/free_spans.h"
#include "back/gauges.h"
#include "back/huge_pages.h"
#include "back/vma_edges.h"

enum {
    HOLE_MIN = 16,       /* granules; from these on a range is unmapped and not only purged, where mappings count */
    HOLES_MAX = 1 << 14, /* of the 65,530 mappings that a process may have by default */
};

bool hz3_range_purge(uintptr_t start, size_t bytes)
{
    size_t small = hz3_small_pages_in(start, bytes);
    return (!small || hz3_os_purge(start, small, 0)) &&
           (small == bytes || hz3_os_purge(start + small, bytes - small, hz3_get(hz3_os.huge_page)));
}

void hz3_range_purge_whole_pages(uintptr_t from, uintptr_t to)
{
    from = hz3_round_up(from, hz3_os.page);
    to &= ~(uintptr_t)(hz3_os.page - 1);
    if (to > from) hz3_os_purge(from, to - from, 0);
}

void hz3_range_drop_edges(uintptr_t start, size_t bytes)
{
    if (likely(hz3_vma_edges_none())) return;
    hz3_lock(&hz3_pages_lock);
    hz3_vma_edges_drop(start, bytes);
    hz3_unlock(&hz3_pages_lock);
}

bool hz3_range_unmap(uintptr_t start, size_t bytes)
{
    if (!hz3_os_unmap(start, bytes)) return false;
    hz3_range_drop_edges(start, bytes);
    return true;
}

bool hz3_range_map_again(const struct hz3_span *span)
{
    if (hz3_os_map_at(span->start, hz3_span_bytes(span)) != HZ3_MAPPED) return false;
    hz3_huge_pages_advise(hz3_window_of((void *)span->start), span->start, hz3_span_bytes(span));
    return true;
}

bool hz3_range_map_anew(uintptr_t start, size_t bytes)
{
    if (!hz3_os_map_anew(start, bytes)) return false;
    hz3_huge_pages_advise(hz3_window_of((void *)start), start, bytes);
    hz3_range_drop_edges(start, bytes);
    return true;
}

enum hz3_span_kind hz3_range_renew(const struct hz3_span *span)
{
    uintptr_t start = span->start;
    size_t bytes = hz3_span_bytes(span);
    if (hz3_range_purge(start, bytes)) return HZ3_SPAN_CLEAN;
    if (hz3_window_of((void *)start)->reserved) return HZ3_SPAN_DIRTY; /* nothing was unmapped */
    if (hz3_range_map_anew(start, bytes)) return HZ3_SPAN_CLEAN;
    hz3_os_unmap(start, bytes); /* what is still mapped could never be mapped again */
    hz3_range_drop_edges(start, bytes);
    return HZ3_SPAN_UNMAPPED; /* whether or not the system refuses that, too: who took it for dirty might crash */
}

static bool is_hole(struct hz3_window *window, size_t granule)
{
    return hz3_spans_neighbour(window, granule, HZ3_SPAN_GUARD) ||
           hz3_spans_neighbour(window, granule, HZ3_SPAN_UNMAPPED);
}

static bool borders_on_hole(struct hz3_window *window, size_t first, size_t granules)
{
    hz3_lock(&hz3_pages_lock);
    bool borders = is_hole(window, first - 1) || is_hole(window, first + granules);
    hz3_unlock(&hz3_pages_lock);
    return borders;
}

bool hz3_range_holes_are_few(void)
{
    return hz3_gauge(HZ3_GAUGE_HOLES) < HOLES_MAX;
}

bool hz3_range_may_leave_hole(struct hz3_window *window, size_t first, size_t granules)
{
    return !window->reserved && (hz3_range_holes_are_few() || borders_on_hole(window, first, granules));
}

bool hz3_range_leaves_hole(struct hz3_window *window, size_t first, size_t granules)
{
    bool counts = hz3_get(hz3_os.counts_mapped) && granules >= HOLE_MIN;
    if (window->reserved) return false;
    if (counts && hz3_range_holes_are_few()) return true;
    return (counts || hz3_gauge(HZ3_GAUGE_GUARDS)) && borders_on_hole(window, first, granules);
}
