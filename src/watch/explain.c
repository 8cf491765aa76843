#include "watch/explain.h"

#include "back/arena.h"
#include "back/limits.h"
#include "back/run.h"
#include "back/zone.h"
#include "base/sizeclass.h"
#include "middle/central.h"
#include "os/gate.h"
#include "os/mappings.h"
#include "os/sandbox.h"
#include "watch/stats.h"

enum { TOP = 5 };

/* Resident bytes. */
struct explained {
    size_t used[HZ3_CLASSES + 1], holes[HZ3_CLASSES + 1]; /* of runs, by class: of objects handed out, of free ones */
    size_t live, free, never, thread, in_flight;          /* of runs, all classes */
    size_t large, waiting, huge, heaps;                   /* of other spans; heaps: of zones, runs and all */
    size_t windows, metadata, files, others, rss;         /* of mappings */
};

/* ---- spans ---- */

/* If only a part of a run is resident, objects handed out are taken to be resident before free ones. */
static void add_run(struct explained *sum, struct hz3_span *run)
{
    size_t size = hz3_class_size(run->cls), resident = hz3_os_resident(run->start, hz3_span_bytes(run));
    uintptr_t end = run->start + hz3_span_bytes(run);
    uintptr_t bump = hz3_min(hz3_round_up(run->start + hz3_get(run->bump) * size, hz3_os.page), end);
    size_t never = hz3_min(hz3_os_resident(bump, end - bump), resident);
    size_t used = hz3_min(hz3_get(run->live) * size, resident - never);
    sum->never += never;
    sum->used[run->cls] += used;
    sum->holes[run->cls] += resident - never - used;
}

static void add_span(struct hz3_span *span, void *to)
{
    struct explained *sum = to;
    if (hz3_zone_of((void *)span->start)) {
        sum->heaps += hz3_os_resident(span->start, hz3_span_bytes(span));
        return;
    }
    if (span->kind == HZ3_SPAN_RUN && span->cls >= 1 && span->cls <= HZ3_CLASSES) {
        add_run(sum, span);
        return;
    }
    bool waits = span->kind == HZ3_SPAN_DIRTY || span->kind == HZ3_SPAN_PURGING ||
                 (span->kind == HZ3_SPAN_LARGE && hz3_get(span->freed));
    size_t *use = waits ? &sum->waiting : span->kind == HZ3_SPAN_LARGE ? &sum->large : &sum->huge;
    *use += hz3_os_resident(span->start, hz3_span_bytes(span));
}

/* ---- classes ---- */

static size_t part(size_t objects, unsigned cls, size_t *left)
{
    size_t bytes = hz3_min(objects * hz3_class_size(cls), *left);
    *left -= bytes;
    return bytes;
}

/* What was handed out is live, or waits for the next malloc. */
static void add_classes(struct explained *sum)
{
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        struct hz3_class_stats of = hz3_stats_of_class(cls);
        size_t left = sum->used[cls];
        sum->thread += part(of.thread, cls, &left);
        sum->in_flight += part(of.transfer + of.outgoing + of.stashed, cls, &left);
        sum->live += left;
        sum->free += sum->holes[cls];
    }
}

/* ---- mappings ---- */

static bool overlaps(const struct hz3_mapping *mapping, uintptr_t start, uintptr_t end)
{
    return mapping->start < end && start < mapping->end;
}

static bool has_states_of(const struct hz3_mapping *mapping, const struct hz3_window *window)
{
    for (unsigned table = 0; table < hz3_state_tables; table++) {
        unsigned shift = hz3_state_table_shift(table);
        uintptr_t end = window->base + ((uintptr_t)window->frontier << HZ3_GRANULE_SHIFT);
        if (overlaps(mapping, (uintptr_t)hz3_state_at(window->base, shift), (uintptr_t)hz3_state_at(end, shift)))
            return true;
    }
    return false;
}

static bool add_mapping(const struct hz3_mapping *mapping, void *to)
{
    struct explained *sum = to;
    size_t *use = mapping->path ? &sum->files : &sum->others;
    if (overlaps(mapping, (uintptr_t)hz3_heaps, (uintptr_t)(hz3_heaps + 1))) use = &sum->metadata;
    for (uint32_t i = 0; i < hz3_get(hz3_window_count); i++) {
        const struct hz3_window *window = &hz3_windows[i];
        uintptr_t tables = i ? (uintptr_t)window->spans : hz3_magazine_area;
        if (overlaps(mapping, window->base, window->base + window->bytes))
            use = &sum->windows;
        else if (overlaps(mapping, tables, window->base) || has_states_of(mapping, window))
            use = &sum->metadata;
    }
    *use += mapping->resident;
    sum->rss += mapping->resident;
    return true;
}

/* ---- text ---- */

static void print_row(struct hz3_text *text, size_t bytes, size_t whole, const char *what)
{
    if (!bytes) return;
    size_t share = (size_t)((double)bytes * 1000 / (double)hz3_max(whole, 1) + 0.5);
    hz3_stats_text_process(text);
    hz3_print(text, "%9zu KiB  %3zu.%zu %%  %s\n", bytes >> 10, share / 10, share % 10, what);
}

static void print_holes(struct hz3_text *text, struct explained *sum)
{
    for (int i = 0; i < TOP; i++) {
        unsigned most = 1;
        for (unsigned cls = 2; cls <= HZ3_CLASSES; cls++)
            if (sum->holes[cls] > sum->holes[most]) most = cls;
        struct hz3_class_stats of = hz3_stats_of_class(most);
        size_t cached = hz3_stats_cached(&of);
        char buf[128];
        struct hz3_text what = {buf, sizeof buf, 0};
        hz3_print(&what, "of these free objects have %zu bytes; %zu live and %zu cached ones pin them",
                  hz3_class_size(most), of.out - hz3_min(cached, of.out), cached);
        print_row(text, sum->holes[most], sum->free, buf);
        sum->holes[most] = 0;
    }
}

static void print_sum(struct hz3_text *text, const struct explained *sum)
{
    size_t rss = sum->rss;
    char waiting[64];
    hz3_print(&(struct hz3_text){waiting, sizeof waiting, 0}, "waiting to go back, %u ms after it was freed",
              hz3_get(hz3_pages_decay));
    print_row(text, sum->live, rss, "live objects");
    print_row(text, sum->large, rss, "live large blocks");
    print_row(text, sum->heaps, rss, "heaps of the program's own");
    print_row(text, sum->free, rss, "free objects in runs in use");
    print_row(text, sum->never, rss, "objects never handed out");
    print_row(text, sum->thread, rss, "threads' magazines");
    print_row(text, sum->in_flight, rss, "in flight between threads");
    print_row(text, sum->waiting, rss, waiting);
    print_row(text, sum->huge, rss, "free, in huge pages");
    print_row(text, sum->metadata, rss, "metadata");
    print_row(text, sum->files, rss, "program, libraries and shared memory (not hz3's)");
    print_row(text, sum->others, rss, "stacks and other mappings (not hz3's)");
    print_row(text, rss, rss, "sum: the resident memory");
}

/* Pages that were only read are the one page of zeroes, small or huge: in memory, but not resident.  What is resident
 * beside the spans are tables that lie in one mapping with them. */
static void settle(struct explained *sum)
{
    size_t written = sum->live + sum->free + sum->thread + sum->in_flight + sum->waiting;
    size_t left = sum->windows - hz3_min(written, sum->windows),
           *rows[] = {&sum->never, &sum->huge, &sum->large, &sum->heaps};
    for (int i = 0; i < 4; i++) {
        *rows[i] = hz3_min(*rows[i], left);
        left -= *rows[i];
    }
    sum->metadata += left;
}

void hz3_explain_text(struct hz3_text *text)
{
    struct explained sum = {.rss = 0};
    hz3_gate_enter_at_last();
    if (!hz3_sandboxed()) hz3_stats_each_span(add_span, &sum);
    add_classes(&sum);
    if (hz3_os_each_mapping(true, add_mapping, &sum)) {
        settle(&sum);
        print_sum(text, &sum);
        print_holes(text, &sum);
    } else {
        hz3_stats_text_process(text);
        hz3_print(text, "where the resident memory is cannot be told: the system's list of it cannot be read\n");
    }
    hz3_gate_leave();
}
