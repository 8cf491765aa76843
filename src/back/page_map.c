#include "back/page_map.h"

/* What a retire writes is in one cache line. */
_Static_assert(offsetof(struct hz3_span, older) == 64, "the hot part of a descriptor");
_Static_assert(sizeof(struct hz3_span) == 128 + sizeof(((struct hz3_span *)0)->noted), "and the whole");

struct hz3_window hz3_windows[HZ3_WINDOWS_MAX];
HZ3_ATOMIC(uint32_t) hz3_window_count;
uint8_t hz3_state_shift[HZ3_BINS] HZ3_CACHE_ALIGNED, *hz3_states;
unsigned hz3_state_tables;

enum { FOREIGN_OWNER = 1 }; /* of a granule that was skipped, beside HZ3_CLASS_NONE */

void hz3_map_tag(uintptr_t start, size_t granules, unsigned cls, unsigned owner)
{
    struct hz3_window *window = hz3_window_of((void *)start);
    struct hz3_tag *tags = &window->tags[hz3_granule_of(window, (void *)start)];
    for (size_t i = 0; i < granules; i++) tags[i].cls = (uint8_t)cls;
    hz3_map_own(start, granules, owner);
}

void hz3_map_own(uintptr_t start, size_t granules, unsigned owner)
{
    struct hz3_window *window = hz3_window_of((void *)start);
    struct hz3_tag *tags = &window->tags[hz3_granule_of(window, (void *)start)];
    for (size_t i = 0; i < granules; i++) hz3_set(tags[i].owner, (uint8_t)owner);
}

void hz3_map_skip(uintptr_t start, size_t granules)
{
    hz3_map_tag(start, granules, HZ3_CLASS_NONE, FOREIGN_OWNER);
}

/* A run's granules are all tagged, of a large block's the first. */
void hz3_map_clear(const struct hz3_span *span)
{
    hz3_map_tag(span->start, span->kind == HZ3_SPAN_RUN ? span->granules : 1, HZ3_CLASS_NONE, 0);
}

void hz3_map_each_span(void (*visit)(struct hz3_span *span))
{
    for (uint32_t i = 0; i < hz3_get(hz3_window_count); i++)
        for (uint32_t g = 0; g < hz3_min(hz3_windows[i].frontier, hz3_windows[i].spans_mapped); g++)
            visit(&hz3_windows[i].spans[g]);
}

bool hz3_map_was_used(const void *p)
{
    const struct hz3_window *window = hz3_window_of(p);
    /* Without a descriptor: beyond a window that ended early. */
    if (!window || hz3_granule_of(window, p) >= hz3_min(window->frontier, window->spans_mapped)) return false;
    return hz3_class_at(p) != HZ3_CLASS_NONE || hz3_owner_at(p) != FOREIGN_OWNER;
}
