#include "audit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "back/arena.h"
#include "base/sizeclass.h"
#include "support.h"

/* ---- hz3's own tables ---- */

static void count_run(struct audit *audit, const struct hz3_span *run)
{
    const struct hz3_class_info *info = &hz3_class_info[run->cls];
    size_t live = hz3_get(run->live), bump = hz3_get(run->bump);
    CHECK(live <= bump && bump <= info->objects);
    audit->out += live * info->size;
    audit->central += (bump - live) * info->size;
    audit->uncarved += hz3_span_bytes(run) - bump * info->size;
}

static void count_large(struct audit *audit, const struct hz3_span *block)
{
    if (HZ3_SECURE && hz3_get(block->freed)) return; /* inaccessible */
    size_t used = hz3_get(block->freed) ? 0 : block->bytes;
    CHECK(used <= hz3_span_bytes(block));
    audit->large += used;
    audit->uncarved += hz3_span_bytes(block) - used;
}

/* Counts a span and returns its granules.  A granule without a span is set aside for a fork, or not hz3's. */
static size_t count_span(struct audit *audit, const struct hz3_window *window, size_t granule)
{
    const struct hz3_span *span = &window->spans[granule];
    switch ((enum hz3_span_kind)span->kind) {
    case HZ3_SPAN_NONE:
        audit->uncarved += hz3_map_was_used((void *)(window->base + granule * HZ3_GRANULE)) ? HZ3_GRANULE : 0;
        return 1;
    case HZ3_SPAN_RUN: count_run(audit, span); break;
    case HZ3_SPAN_LARGE: count_large(audit, span); break;
    case HZ3_SPAN_GUARD:
    case HZ3_SPAN_WAITING:
    case HZ3_SPAN_UNMAPPED: break;
    case HZ3_SPAN_PURGING: CHECK(!"a quiet moment");
    default: audit->uncarved += hz3_span_bytes(span);
    }
    return span->granules;
}

/* ---- the kernel's figures ---- */

/* Bytes of [from, to) that are mapped and writable. */
static size_t writable(const char *maps, uintptr_t from, uintptr_t to)
{
    size_t bytes = 0;
    for (const char *line = maps; *line; line = strchr(line, '\n') + 1) {
        char *end;
        uintptr_t start = strtoul(line, &end, 16), stop = strtoul(end + 1, &end, 16);
        if (end[2] == 'w' && start < to && stop > from) bytes += hz3_min(stop, to) - hz3_max(start, from);
    }
    return bytes;
}

/* A window's tables lie right before it.  The first window's tables also have the magazines before them. */
static size_t count_committed(const char *maps, const struct hz3_window *window)
{
    uintptr_t from = window == hz3_windows ? hz3_magazine_area : (uintptr_t)window->spans;
    size_t bytes = writable(maps, from, window->base + window->bytes);
    for (unsigned i = 0; i < hz3_state_tables; i++) {
        unsigned shift = hz3_state_table_shift(i);
        bytes += writable(maps, (uintptr_t)hz3_state_at(window->base, shift),
                          (uintptr_t)hz3_state_at(window->base + window->bytes, shift));
    }
    return bytes;
}

static const char *read_maps(void)
{
    static char maps[1 << 20];
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    CHECK(fd >= 0);
    for (ssize_t n; (n = read(fd, maps + length, sizeof maps - 1 - length)) > 0;) length += (size_t)n;
    CHECK(length < sizeof maps - 1 && close(fd) == 0);
    maps[length] = 0;
    return maps;
}

struct audit audit(void)
{
    struct audit audit = {.metadata = hz3_arena_metadata_bytes()};
    const char *maps = read_maps();
    for (uint32_t i = 0; i < hz3_get(hz3_window_count); i++) {
        const struct hz3_window *window = &hz3_windows[i];
        size_t end = hz3_min(window->frontier, window->spans_mapped);
        for (size_t granule = 0; granule < end;) granule += count_span(&audit, window, granule);
        audit.committed += count_committed(maps, window);
    }
    return audit;
}
