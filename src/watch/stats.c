#include "watch/stats.h"

#include "back/arena.h"
#include "back/free_spans.h"
#include "back/gauges.h"
#include "back/large.h"
#include "back/limits.h"
#include "back/zone.h"
#include "base/sizeclass.h"
#include "front/threads.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include "os/gate.h"
#include "os/os.h"
#include "watch/layout.h"

struct hz3_class_stats hz3_stats_of_class(unsigned cls)
{
    uint64_t retired = hz3_central_retired(cls), taken = 0; /* `retired` first: all in it was taken before */
    for (unsigned i = 0; i < hz3_heap_count; i++) taken += hz3_get(hz3_heaps[i].taken[cls]);
    struct hz3_cached cached = hz3_cache_look(cls);
    return (struct hz3_class_stats){.out = (size_t)(taken - retired),
                                    .thread = cached.thread,
                                    .outgoing = cached.outgoing,
                                    .earned = cached.earned,
                                    .stashed = hz3_owner_stash_objects(cls),
                                    .transfer = hz3_transfer_objects(cls)};
}

void hz3_stats_read(struct hz3_stats *stats)
{
    *stats = (struct hz3_stats){0};
    hz3_gate_enter_at_last();
    size_t small = 0;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        struct hz3_class_stats of = hz3_stats_of_class(cls);
        size_t size = hz3_class_size(cls);
        small += of.out * size;
        stats->stashed += of.stashed * size;
        stats->transfer += of.transfer * size;
        stats->cached += hz3_stats_cached(&of) * size;
        stats->cached_objects += hz3_stats_cached(&of);
    }
    stats->large = hz3_get(hz3_large_bytes);
    stats->large_blocks = hz3_get(hz3_large_blocks);
    struct hz3_zone_bytes zones = hz3_zones_count();
    stats->in_heaps = zones.held;
    stats->allocated = small - hz3_min(stats->cached, small) + zones.live + stats->large;
    size_t large_cached = hz3_gauge(HZ3_GAUGE_LARGE_CACHED);
    size_t used = hz3_gauge(HZ3_GAUGE_USED);
    stats->active = used - hz3_min(large_cached, used);
    stats->dirty = hz3_gauge(HZ3_GAUGE_DIRTY) + large_cached;
    stats->resident = hz3_pages_resident();
    stats->retained = stats->dirty + hz3_gauge(HZ3_GAUGE_CLEAN);
    stats->mapped = stats->active + stats->retained;
    stats->metadata = hz3_arena_metadata_bytes();
    stats->purged = hz3_gauge(HZ3_GAUGE_PURGED);
    hz3_cache_stats_sum(&stats->cache);
    hz3_gate_leave();
}

size_t hz3_stats_free_ranges(void)
{
    hz3_gate_enter_at_last();
    hz3_lock(&hz3_pages_lock);
    size_t ranges = hz3_spans_count(HZ3_SPAN_DIRTY) + hz3_spans_count(HZ3_SPAN_CLEAN);
    hz3_unlock(&hz3_pages_lock);
    hz3_gate_leave();
    return ranges;
}

/* One row per figure, so that text and JSON cannot differ. */
#define FIGURES(row) \
    row(allocated, s.allocated) row(cached, s.cached) row(stashed, s.stashed) row(in_transfer_cache, s.transfer) \
        row(active, s.active) row(in_heaps, s.in_heaps) row(resident, s.resident) row(mapped, s.mapped) \
            row(retained, s.retained) row(dirty, s.dirty) row(metadata, s.metadata) row(purged, s.purged)
#define SOURCES(row) \
    row(swap, s.cache.swap) row(owner_stash, s.cache.stash) row(transfer, s.cache.transfer) \
        row(held_run, s.cache.held) row(central, s.cache.central) row(stolen, s.cache.stolen) \
            row(fresh_run, s.cache.fresh) row(overflow, s.cache.overflow) row(retired, s.cache.retired)

void hz3_stats_text_process(struct hz3_text *text)
{
    char name[64];
    hz3_print_name(&(struct hz3_text){name, sizeof name, 0}, hz3_os_program(), ']');
    hz3_print(text, "hz3: [%d %s", hz3_os.pid, name);
    if (hz3_os.parent) hz3_print(text, ", child of %d", hz3_os.parent);
    hz3_print(text, "] ");
}

void hz3_stats_text(struct hz3_text *text, bool config)
{
    struct hz3_stats s;
    hz3_stats_read(&s);
    hz3_stats_text_process(text);
    hz3_print(text, "stats (bytes):");
#define ROW(name, value) hz3_print(text, " " #name "=%zu", (size_t)(value));
    FIGURES(ROW)
    hz3_print(text, "\n");
    hz3_stats_text_process(text);
    hz3_print(text, "refills by source, magazines away:");
    SOURCES(ROW)
#undef ROW
    hz3_print(text, "\n");
    if (config) {
        hz3_stats_text_process(text);
        hz3_print(text, "%s\n", hz3_layout.config);
    }
    hz3_stats_text_process(text);
    hz3_print(text,
              "this process ran on hz3 " HZ3_VERSION_TEXT " (" HZ3_LANE_TEXT
              "): %zu KiB live in %zu KiB of runs and large blocks; %zu KiB were given back to the system\n",
              s.allocated >> 10, s.active >> 10, s.purged >> 10);
}

void hz3_stats_print_json(struct hz3_text *text)
{
    struct hz3_stats s;
    hz3_stats_read(&s);
    hz3_print(text, "{\"version\":\"" HZ3_VERSION_TEXT "\",\"lane\":\"" HZ3_LANE_TEXT "\"");
#define ROW(name, value) hz3_print(text, ",\"" #name "\":%zu", (size_t)(value));
    FIGURES(ROW)
    SOURCES(ROW)
#undef ROW
    hz3_print(text, "}");
}
