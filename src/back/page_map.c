#include "back/page_map.h"

#include "base/layout.h"

/* All that a retire writes in a descriptor is in one cache line. */
_Static_assert(offsetof(struct hz3_span, in_central.older) == 64, "the hot part of a descriptor");
_Static_assert(sizeof(struct hz3_span) % 128 == 0, "and the whole");

HZ3_TOGETHER HZ3_CACHE_ALIGNED struct hz3_window hz3_windows[HZ3_WINDOWS_MAX];
HZ3_ATOMIC(uint32_t) hz3_window_count;
uint8_t hz3_state_shift[HZ3_CLASS_VALUES] HZ3_CACHE_ALIGNED, *hz3_states;
unsigned hz3_state_tables;

enum { FOREIGN_OWNER = 1 }; /* beside HZ3_CLASS_NONE: the tag of a granule that was skipped */

void hz3_map_tag(uintptr_t start, size_t granules, unsigned cls, unsigned owner)
{
    struct hz3_window *window = hz3_window_of((void *)start);
    struct hz3_tag *tags = &window->tags[hz3_granule_of(window, (void *)start)];
    for (size_t i = 0; i < granules; i++) {
        tags[i].cls = (uint8_t)cls;
        hz3_set(tags[i].owner, (uint8_t)owner);
    }
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

/* All granules of a run have a tag, but only the first of a large block. */
void hz3_map_clear(const struct hz3_span *span)
{
    hz3_map_tag(span->start, span->kind == HZ3_SPAN_RUN ? span->granules : 1, HZ3_CLASS_NONE, 0);
}

bool hz3_map_was_used(const void *p)
{
    const struct hz3_window *window = hz3_window_or_none(p);
    /* A granule without a descriptor lies beyond the end of a window that ended early. */
    if (!window || hz3_granule_of(window, p) >= hz3_min(window->frontier, window->spans_mapped)) return false;
    return hz3_class_at(p) != HZ3_CLASS_NONE || hz3_owner_at(p) != FOREIGN_OWNER;
}

const struct hz3_place hz3_map_places[] = {
    HZ3_PLACES("window", hz3_windows),
    HZ3_PLACE("windows", hz3_window_count),
    HZ3_FIELD("window.base", struct hz3_window, base),
    HZ3_FIELD("window.bytes", struct hz3_window, bytes),
    HZ3_FIELD("window.tags", struct hz3_window, tags),
    HZ3_FIELD("window.spans", struct hz3_window, spans),
    HZ3_FIELD("window.free", struct hz3_window, free),
    HZ3_FIELD("window.frontier", struct hz3_window, frontier),
    HZ3_FIELD("window.tags_writable", struct hz3_window, tags_writable),
    HZ3_FIELD("window.spans_mapped", struct hz3_window, spans_mapped),
    HZ3_FIELD("window.free_mapped", struct hz3_window, free_mapped),
    HZ3_FIELD("window.state_bytes", struct hz3_window, state_bytes),
    HZ3_NUMBER("tag.size", sizeof(struct hz3_tag)),
    HZ3_FIELD("tag.owner", struct hz3_tag, owner),
    HZ3_NUMBER("owner.zone", HZ3_OWNER_ZONE),
    HZ3_NUMBER("free.size", sizeof *hz3_windows[0].free),
    HZ3_PLACE("states", hz3_states),
    HZ3_PLACE("state_tables", hz3_state_tables),
    HZ3_NUMBER("span.size", sizeof(struct hz3_span)),
    HZ3_FIELD("span.start", struct hz3_span, start),
    HZ3_FIELD("span.granules", struct hz3_span, granules),
    HZ3_FIELD("span.kind", struct hz3_span, kind),
    HZ3_FIELD("span.freed", struct hz3_span, freed),
    HZ3_FIELD("span.bump", struct hz3_span, bump),
    HZ3_FIELD("span.cls", struct hz3_span, cls),
    HZ3_FIELD("span.live", struct hz3_span, live),
    HZ3_FIELD("span.free", struct hz3_span, free),
    HZ3_FIELD("span.since", struct hz3_span, in_pool.since),
    HZ3_NUMBER("kind.dirty", HZ3_SPAN_DIRTY),
    HZ3_NUMBER("kind.clean", HZ3_SPAN_CLEAN),
    HZ3_NUMBER("kind.unmapped", HZ3_SPAN_UNMAPPED),
    HZ3_NUMBER("kind.run", HZ3_SPAN_RUN),
    HZ3_NUMBER("kind.large", HZ3_SPAN_LARGE),
    HZ3_NUMBER("kind.purging", HZ3_SPAN_PURGING),
    HZ3_PLACES_END,
};
