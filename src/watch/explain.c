#include "watch/explain.h"

#include "back/arena.h"
#include "back/gauges.h"
#include "back/limits.h"
#include "back/run.h"
#include "back/zone.h"
#include "base/sizeclass.h"
#include "middle/central.h"
#include "middle/transfer_cache.h"
#include "os/gate.h"
#include "os/mappings.h"
#include "os/sandbox.h"
#include "watch/stats.h"

enum {
    TOP = 5,
    ADVICE_MAX = 3,
    WORTH = 20, /* what is less than this part of the resident memory is not worth advice */
};

/* Resident bytes. */
struct explained {
    size_t used[HZ3_CLASSES + 1], holes[HZ3_CLASSES + 1];  /* of runs, by class: of objects handed out, of free ones */
    size_t live, free, never, thread, in_flight, transfer; /* of runs, all classes; transfer: a part of in_flight */
    size_t gaps, earned;                                   /* parts of free, in whole pages, and of thread */
    size_t large, waiting, huge, heaps;                    /* of other spans; heaps: of zones, runs and all */
    size_t windows, metadata, files, others, rss;          /* of mappings */
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
    size_t holes = resident - never - used;
    sum->holes[run->cls] += holes;
    if (hz3_get(run->bump) > hz3_get(run->live)) sum->gaps += hz3_min(hz3_run_resident_gaps(run), holes);
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
        sum->earned += of.earned * hz3_class_size(cls);
        size_t transfer = part(of.transfer, cls, &left);
        sum->transfer += transfer;
        sum->in_flight += transfer + part(of.outgoing + of.stashed, cls, &left);
        sum->live += left;
        sum->free += sum->holes[cls];
    }
    sum->earned = hz3_min(sum->earned, sum->thread);
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

struct advice {
    struct hz3_text *text;
    size_t least; /* bytes that are worth a sentence */
    int said;
};

/* format: a setting, if any, with its value and unit; then what it acts on, with KiB. */
static void advise(struct advice *to, size_t bytes, size_t value, const char *format)
{
    if (bytes < to->least || to->said == ADVICE_MAX) return;
    bool mib = value >= HZ3_MIB(1);
    to->said++;
    hz3_stats_text_process(to->text);
    if (value)
        hz3_print(to->text, format, value >> (mib ? 20 : 10), mib ? "M" : "K", bytes >> 10);
    else
        hz3_print(to->text, format, bytes >> 10);
}

static size_t beyond(size_t bound)
{
    size_t bytes = 0;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) bytes += hz3_transfer_beyond(cls, bound);
    return bytes;
}

/* The largest of some bounds that takes half of it out, or else the least. */
static size_t transfer_bound(size_t transfer)
{
    size_t bound = HZ3_MIB(1);
    while (bound > HZ3_KIB(64) && beyond(bound) < transfer / 2) bound /= 4;
    return bound;
}

/* Advice of the decay time is given only where the background thread runs, or the program has one thread: else an idle
 * process gives nothing back. */
static void print_advice(struct hz3_text *text, const struct explained *sum)
{
    struct advice to = {text, sum->rss / WORTH, 0};
    bool attended = hz3_get(hz3_pages_attended);
    size_t retain = sum->waiting / 2, bound = transfer_bound(sum->transfer);
    if (retain < hz3_get(hz3_pages_dirty_max))
        advise(&to, sum->waiting, retain,
               attended ? "HZ3_RETAIN=%zu%s or a shorter HZ3_DECAY gives back sooner what waits (%zu KiB)\n"
                        : "HZ3_RETAIN=%zu%s gives back sooner what waits (%zu KiB)\n");
    advise(&to, sum->earned, sum->earned / 2,
           "HZ3_CACHE_TOTAL=%zu%s bounds what the threads' magazines hold (%zu KiB)\n");
    advise(&to, beyond(bound), bound, "HZ3_TRANSFER_CACHE=%zu%s keeps that much out of the transfer cache (%zu KiB)\n");
    if (attended)
        advise(&to, hz3_min(sum->gaps, hz3_gauge(HZ3_GAUGE_IDLE)), 0,
               "A shorter HZ3_DECAY gives back sooner the free pages of runs in use (%zu KiB)\n");
    advise(&to, sum->free - sum->gaps, 0,
           "No option gives back what is free in pages that hold other objects, too (%zu KiB)\n");
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
        print_advice(text, &sum);
    } else {
        hz3_stats_text_process(text);
        hz3_print(text, "where the resident memory is cannot be told: the system's list of it cannot be read\n");
    }
    hz3_gate_leave();
}
