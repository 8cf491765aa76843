#include "watch/snapshot.h"

#include "back/arena.h"
#include "base/print.h"
#include "front/registry.h"
#include "front/threads.h"
#include "os/gate.h"
#include "os/mappings.h"
#include "watch/layout_head.h"

#include <unistd.h>

struct snapshot {
    int file;
    bool whole;     /* so far */
    uint64_t own;   /* the path of the library or program that hz3 is in */
    uintptr_t next; /* the end of the last mapping of it */
};

static void put(struct snapshot *to, enum hz3_snapshot what, uintptr_t at, const void *bytes, size_t count)
{
    const uint64_t head[] = {what, at, count};
    to->whole = to->whole && hz3_os_write(to->file, head, sizeof head) && hz3_os_write(to->file, bytes, count);
}

static void put_memory(struct snapshot *to, const volatile void *at, size_t bytes)
{
    put(to, HZ3_SNAPSHOT_MEMORY, (uintptr_t)at, (const void *)at, bytes);
}

static void put_head(struct snapshot *to)
{
    char buf[1536], file[1024];
    struct hz3_text text = {buf, sizeof buf, 0};
    ssize_t length = readlink("/proc/self/exe", file, sizeof file);
    hz3_print(&text, "hz3 memory 1\n%d %zu %zu\n", hz3_os.pid, hz3_os.page, (size_t)hz3_os_now_ms());
    hz3_print_name(&text, hz3_os_program(), 0);
    hz3_print(&text, "\n");
    for (ssize_t i = 0; i < length; i++) /* as maps has it */
        if (file[i] == '\n')
            hz3_print(&text, "\\012");
        else
            hz3_print(&text, "%c", file[i]);
    hz3_print(&text, "\n\n");
    to->whole = hz3_os_write(to->file, buf, hz3_min(text.length, sizeof buf - 1));
}

static void put_smaps(struct snapshot *to)
{
    char buf[4096];
    long got = 0;
    int smaps = hz3_os_open("/proc/self/smaps");
    while (smaps >= 0 && (got = hz3_os_read(smaps, buf, sizeof buf)) > 0)
        put(to, HZ3_SNAPSHOT_SMAPS, 0, buf, (size_t)got);
    if (smaps >= 0) hz3_os_close(smaps);
    to->whole &= smaps >= 0 && got == 0;
}

static bool find_own(const struct hz3_mapping *mapping, void *to)
{
    bool own = (uintptr_t)&hz3_layout - mapping->start < mapping->end - mapping->start;
    if (own) ((struct snapshot *)to)->own = mapping->path;
    return !own;
}

/* The constants and variables, of which those that begin as zero follow the file's mappings. */
static bool put_own(const struct hz3_mapping *mapping, void *to)
{
    struct snapshot *snapshot = to;
    bool follows = !mapping->path && mapping->writable && mapping->start == snapshot->next;
    if (!(mapping->path ? mapping->path == snapshot->own : follows)) return true;
    if (mapping->readable) put_memory(snapshot, (void *)mapping->start, mapping->end - mapping->start);
    snapshot->next = mapping->end;
    return true;
}

static void put_pages(struct snapshot *to, const struct hz3_window *window)
{
    enum { GRANULES = 256 };
    unsigned char pages[GRANULES * HZ3_GRANULE / 4096];
    size_t in_granule = HZ3_GRANULE / hz3_os.page;
    for (size_t g = 0, some; g < window->frontier; g += some) {
        uintptr_t at = window->base + (g << HZ3_GRANULE_SHIFT);
        some = hz3_min(window->frontier - g, (size_t)GRANULES);
        for (size_t i = 0; i < some; i++)
            hz3_os_in_memory(at + (i << HZ3_GRANULE_SHIFT), in_granule, pages + i * in_granule);
        put(to, HZ3_SNAPSHOT_PAGES, at, pages, some * in_granule);
    }
}

HZ3_RACY static void put_windows(struct snapshot *to)
{
    for (uint32_t i = 0; i < hz3_get(hz3_window_count); i++) {
        const struct hz3_window *window = &hz3_windows[i];
        size_t used = hz3_min(hz3_min(window->frontier, window->spans_mapped), window->free_mapped);
        put_memory(to, window->spans, used * sizeof *window->spans);
        put_memory(to, window->free, used * sizeof *window->free);
        put_memory(to, window->tags, used * sizeof *window->tags);
        put_pages(to, window);
    }
    put_memory(to, (void *)hz3_magazine_area, hz3_magazine_mapped);
}

/* A thread's memory is gone when it ends. */
struct copy {
    struct hz3_thread *at, thread;
    struct hz3_outbox *outbox;
};

static size_t count_threads(void)
{
    size_t threads = 0;
    for (const struct hz3_registry_entry *entry = hz3_registry; entry; entry = entry->next) threads++;
    return threads;
}

HZ3_RACY static void copy_threads(struct copy *to)
{
    for (const struct hz3_registry_entry *entry = hz3_registry; entry; entry = entry->next, to++) {
        to->at = entry->thread;
        to->thread = *entry->thread;
        to->outbox = *entry->thread->outbox;
    }
}

/* Inside the gate they are only copied: a fork would wait for the disk. */
static void put_threads(struct snapshot *to)
{
    hz3_gate_enter_at_last();
    hz3_lock(&hz3_threads_lock);
    hz3_threads_reap_locked();
    size_t threads = count_threads(), bytes = hz3_round_up(threads * sizeof(struct copy) + 1, hz3_os.page);
    struct copy *copies = (struct copy *)hz3_os_map(bytes);
    if (copies) copy_threads(copies);
    hz3_unlock(&hz3_threads_lock);
    hz3_gate_leave();
    to->whole &= !!copies;
    for (size_t i = 0; copies && i < threads; i++) {
        put(to, HZ3_SNAPSHOT_MEMORY, (uintptr_t)copies[i].at, &copies[i].thread, sizeof copies[i].thread);
        put(to, HZ3_SNAPSHOT_MEMORY, (uintptr_t)copies[i].thread.outbox, &copies[i].outbox, sizeof copies[i].outbox);
    }
    if (copies) hz3_os_unmap((uintptr_t)copies, bytes);
}

bool hz3_snapshot_write(int file)
{
    struct snapshot snapshot = {.file = file};
    put_head(&snapshot);
    put_smaps(&snapshot);
    snapshot.whole &= hz3_os_each_mapping(find_own, &snapshot) && hz3_os_each_mapping(put_own, &snapshot);
    put_windows(&snapshot);
    put_threads(&snapshot);
    return snapshot.whole;
}
