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
#include "watch/layout_head.h"

#include <string.h>

/* Objects of a class.  cached: in threads' magazines and outboxes, in the transfer cache, and stashed. */
struct class_stats {
    size_t out; /* of its runs: with the program, or cached */
    size_t cached, stashed, transfer;
};

/* Inside the gate. */
static struct class_stats stats_of_class(unsigned cls)
{
    uint64_t retired = hz3_central_retired(cls), taken = 0; /* `retired` first: all in it was taken before */
    for (unsigned i = 0; i < hz3_heap_count; i++) taken += hz3_get(hz3_heaps[i].taken[cls]);
    size_t threads = hz3_cache_objects(cls);
    size_t stashed = hz3_owner_stash_objects(cls), transfer = hz3_transfer_objects(cls);
    return (struct class_stats){.out = (size_t)(taken - retired),
                                .cached = threads + stashed + transfer,
                                .stashed = stashed,
                                .transfer = transfer};
}

void hz3_stats_read(struct hz3_stats *stats)
{
    *stats = (struct hz3_stats){0};
    hz3_gate_enter_at_last();
    size_t small = 0;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        struct class_stats of = stats_of_class(cls);
        size_t size = hz3_class_size(cls);
        small += of.out * size;
        stats->stashed += of.stashed * size;
        stats->transfer += of.transfer * size;
        stats->cached += of.cached * size;
        stats->cached_objects += of.cached;
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
    stats->threads = hz3_cache_stats_sum(&stats->cache);
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

/* How many runs each class has.  Other threads may run: a span that changes while it is read is taken as it looks. */
HZ3_RACY static void count_runs(size_t runs[HZ3_CLASSES + 1])
{
    for (uint32_t i = 0; i < hz3_get(hz3_window_count); i++) {
        const struct hz3_window *window = &hz3_windows[i];
        size_t frontier = hz3_min(window->frontier, window->spans_mapped);
        for (size_t g = 0, granules; g < frontier; g += granules) {
            struct hz3_span span = window->spans[g];
            bool starts = span.kind != HZ3_SPAN_NONE && span.start == window->base + (g << HZ3_GRANULE_SHIFT);
            bool counts = starts && span.kind == HZ3_SPAN_RUN && !hz3_zone_of((void *)span.start);
            if (counts && span.cls <= HZ3_CLASSES) runs[span.cls]++;
            granules = starts ? hz3_max(span.granules, 1u) : 1;
        }
    }
}

/* The rows of figures.def: those from FIRST_REFILL on are refills. */
enum row {
#define HZ3_FIGURE(name, value, meaning) ROW_##name,
#define HZ3_REFILL                       HZ3_FIGURE
#include "watch/figures.def"
#undef HZ3_FIGURE
#undef HZ3_REFILL
    ROWS,
    FIRST_REFILL = ROW_swap,
};
struct figures {
    struct hz3_stats stats;
    struct {
        const char *name;
        size_t value;
    } row[ROWS];
};

static void read_figures(struct figures *to)
{
    hz3_stats_read(&to->stats);
    const struct hz3_stats s = to->stats;
#define HZ3_FIGURE(is, of, meaning) \
    to->row[ROW_##is].name = #is; \
    to->row[ROW_##is].value = (size_t)(of);
#define HZ3_REFILL HZ3_FIGURE
#include "watch/figures.def"
#undef HZ3_FIGURE
#undef HZ3_REFILL
}

bool hz3_stats_find(const char *name, size_t *value)
{
    static const char refills[] = "refills.";
    struct figures figures;
    read_figures(&figures);
    bool refill = !strncmp(name, refills, strlen(refills));
    if (refill) name += strlen(refills);
    *value = figures.stats.threads;
    if (!refill && !strcmp(name, "threads")) return true;
    for (int i = refill ? FIRST_REFILL : 0; i < (refill ? ROWS : FIRST_REFILL); i++)
        if (!strcmp(name, figures.row[i].name)) return *value = figures.row[i].value, true;
    return false;
}

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
    struct figures figures;
    const struct hz3_stats *s = &figures.stats;
    read_figures(&figures);
    for (int i = 0; i < ROWS; i++) {
        if (i == FIRST_REFILL) hz3_print(text, "\n");
        if (i == 0 || i == FIRST_REFILL) hz3_stats_text_process(text);
        if (i == 0) hz3_print(text, "stats (bytes):");
        if (i == FIRST_REFILL) hz3_print(text, "refills by source, magazines away:");
        hz3_print(text, " %s=%zu", figures.row[i].name, figures.row[i].value);
    }
    hz3_print(text, "\n");
    if (config) {
        hz3_stats_text_process(text);
        hz3_print(text, "%s\n", hz3_layout.config);
    }
    hz3_stats_text_process(text);
    hz3_print(text,
              "this process ran on hz3 " HZ3_VERSION_TEXT " (" HZ3_LANE_TEXT
              "): %zu KiB live in %zu KiB of runs and large blocks; %zu KiB were given back to the system\n",
              s->allocated >> 10, s->active >> 10, s->purged >> 10);
}

static void print_classes(struct hz3_text *text)
{
    size_t runs[HZ3_CLASSES + 1] = {0};
    const char *comma = "";
    hz3_gate_enter_at_last();
    count_runs(runs);
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        struct class_stats of = stats_of_class(cls);
        size_t live = of.out - hz3_min(of.cached, of.out), full = live + of.cached;
        size_t room = runs[cls] * hz3_class_info[cls].objects;
        if (!runs[cls] && !of.out) continue;
        hz3_print(text, "%s{\"size\":%zu,\"runs\":%zu,\"live\":%zu,\"cached\":%zu,\"free\":%zu}", comma,
                  hz3_class_size(cls), runs[cls], live, of.cached, room - hz3_min(full, room));
        comma = ",";
    }
    hz3_gate_leave();
}

void hz3_stats_print_json(struct hz3_text *text)
{
    struct figures figures;
    char program[64];
    read_figures(&figures);
    hz3_print_name(&(struct hz3_text){program, sizeof program, 0}, hz3_os_program(), '"');
    for (char *at = program; (at = strchr(at, '\\'));) *at = '?';
    hz3_print(text,
              "{\"pid\":%d,\"program\":\"%s\",\"version\":\"" HZ3_VERSION_TEXT "\",\"lane\":\"" HZ3_LANE_TEXT
              "\",\"threads\":%u",
              hz3_os.pid, program, figures.stats.threads);
    for (int i = 0; i < ROWS; i++)
        hz3_print(text, "%s\"%s\":%zu", i == FIRST_REFILL ? ",\"refills\":{" : ",", figures.row[i].name,
                  figures.row[i].value);
    hz3_print(text, "},\"classes\":[");
    print_classes(text);
    hz3_print(text, "]}");
}
