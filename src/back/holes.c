#include "back/holes.h"

#include "back/free_spans.h"
#include "back/gauges.h"
#include "back/range.h"
#include "back/vma_edges.h"
#include "os/os.h"

enum {
    LEAST = 32, /* granules, */
    LEAST_COUNTED = 16,
    SHIFT = 10, /* and this share of the heap */
    TRIMMED_SHIFT = 13,
    SPARED = 64, /* holes that are mapped again where the process has all the mappings it may have */
};

/* Granules that are or were in use. */
static size_t heap(void)
{
    size_t bytes = 0;
    for (int gauge = HZ3_GAUGE_USED; gauge <= HZ3_GAUGE_UNMAPPED; gauge++) bytes += hz3_gauge((enum hz3_gauge)gauge);
    return bytes >> HZ3_GRANULE_SHIFT;
}

/* The page pool's lock is held. */
static HZ3_COLD void spare_some(uint32_t now)
{
    for (int i = 0; i < SPARED; i++) {
        struct hz3_span *hole = hz3_spans_find(HZ3_SPAN_UNMAPPED, 1, 1);
        if (!hole || !hz3_range_map_again(hole)) return;
        hz3_spans_refile(hole, HZ3_SPAN_CLEAN, now);
    }
}

/* False: there is no such span any more, or the system allows no further mapping. */
static bool make_one(size_t least, uint32_t age)
{
    uint32_t now = (uint32_t)hz3_os_now_ms();
    hz3_lock(&hz3_pages_lock);
    struct hz3_span *span = hz3_spans_idle(HZ3_SPAN_CLEAN, least, age, now);
    bool unmapped = span && hz3_os_unmap(span->start, hz3_span_bytes(span));
    if (unmapped) hz3_vma_edges_drop(span->start, hz3_span_bytes(span));
    if (span) hz3_spans_refile(span, unmapped ? HZ3_SPAN_UNMAPPED : HZ3_SPAN_CLEAN, now);
    if (unlikely(span && !unmapped)) spare_some(now);
    hz3_unlock(&hz3_pages_lock);
    return unmapped;
}

bool hz3_holes_make(uint32_t age)
{
    size_t least = hz3_get(hz3_os.counts_mapped) ? LEAST_COUNTED : LEAST;
    least = age ? hz3_max(least, heap() >> SHIFT) : hz3_max(heap() >> TRIMMED_SHIFT, 1);
    bool made = false;
    while (make_one(least, age)) made = true;
    return made;
}
