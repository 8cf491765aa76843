/* The page map: from a pointer to what its granule holds, and from a span's first granule to its
 * descriptor.  Everything about objects is here, out of band; nothing is ever written into free ones.
 *
 * A window's address range is described by three flat tables beside it and two for all windows:
 *
 *     tags    [offset >> 16]   2 bytes a granule, readable over the whole window: size class and owner; 0 where
 *                              nothing is ours, and in a large block after its first granule
 *     spans   [offset >> 16]   one descriptor a granule, mapped as far as the window is in use
 *     free    [offset >> 16]   one bitmap a granule, mapped as far as spans are: for runs of more than 64 objects
 *     hz3_states [address >> 4]  1 byte per 16 (HZ3_FREE_CHECK only), mapped as far as spans are: 0, or 1 more
 *                                than the low byte of the address where a live object starts; for objects of
 *                [address >> 8]  256 bytes and more 1 byte per 256, in which no two start
 *
 * The first window is the one of every fast path.  Far windows are opened when it is used up (or could
 * only be made small): same structure, found by a loop on slow paths, so there is no hard ceiling; but where the system
 * refuses our addresses, and windows are reservations, state bytes find no place for more than the first. */
#ifndef HZ3_BACK_PAGE_MAP_H
#define HZ3_BACK_PAGE_MAP_H

#include "back/span.h"
#include "base/layout.h"
#include "os/os.h"

/* The class changes only while no object in the granule is live.  The owner (number of a heap) may change at any time:
 * it is advice, and whoever read the old one errs in nothing but speed. */
struct hz3_tag {
    uint8_t cls;
    HZ3_ATOMIC(uint8_t) owner;
};

enum { HZ3_STATE_TABLES = 2, HZ3_COARSE_SHIFT = 8 };
HZ3_INLINE unsigned hz3_state_table_shift(unsigned table)
{
    return table ? HZ3_COARSE_SHIFT : HZ3_UNIT_SHIFT;
}

struct hz3_window {
    uintptr_t base;
    size_t bytes;
    struct hz3_tag *tags;
    struct hz3_span *spans;
    HZ3_ATOMIC(uint64_t) (*free)[HZ3_SPAN_WORDS]; /* bit i of a run's: object i is retired */
    uint32_t frontier;                            /* granules below it were mapped at some time */
    uint32_t tags_writable;                       /* granules whose tags are */
    uint32_t spans_mapped;                        /* granules whose descriptors are */
    uint32_t free_mapped;                         /* granules whose bitmaps are */
    uint32_t states_mapped[HZ3_STATE_TABLES];     /* granules whose state bytes are, fine and coarse */
    /* Granules below it are to have no new huge pages: hz3_pages_stay_broken. */
    HZ3_ATOMIC(uint32_t) broken;
    bool reserved; /* the whole of it is ours already, not readable yet */
};

enum { HZ3_WINDOWS_MAX = 48 };
extern HZ3_HIDDEN struct hz3_window hz3_windows[HZ3_WINDOWS_MAX]; /* [0] is hot: read by every free */
extern HZ3_ATOMIC(uint32_t) hz3_window_count;
/* Const once there is a window; an address that was never mapped has no state bytes. */
extern HZ3_HIDDEN uint8_t *hz3_states;
extern HZ3_HIDDEN uint8_t hz3_state_shift[HZ3_CLASS_VALUES]; /* by class */
extern unsigned hz3_state_tables;                            /* the first so many are in use */

/* Visits the descriptor of every granule that was ever in use.  Only where no other thread runs. */
void hz3_map_each_span(void (*visit)(struct hz3_span *span));
/* Whether p is in a granule that was ours at some time. */
bool hz3_map_was_used(const void *p);

HZ3_INLINE bool hz3_window_has(const struct hz3_window *window, const void *p)
{
    return (uintptr_t)p - window->base < window->bytes;
}

/* The window p lies in, or NULL. */
HZ3_INLINE struct hz3_window *hz3_window_of(const void *p)
{
    if (likely(hz3_window_has(&hz3_windows[0], p))) return &hz3_windows[0];
    uint32_t count = hz3_load(hz3_window_count, memory_order_acquire);
    for (uint32_t i = 1; i < count; i++)
        if (hz3_window_has(&hz3_windows[i], p)) return &hz3_windows[i];
    return NULL;
}

HZ3_INLINE size_t hz3_granule_of(const struct hz3_window *window, const void *p)
{
    return ((uintptr_t)p - window->base) >> HZ3_GRANULE_SHIFT;
}

/* The class of whatever p lies in: a size class, LARGE, or NONE (nothing of ours, or further on in a large block). */
HZ3_INLINE unsigned hz3_class_at(const void *p)
{
    const struct hz3_window *window = hz3_window_of(p);
    return window ? window->tags[hz3_granule_of(window, p)].cls : (unsigned)HZ3_CLASS_NONE;
}

/* The heap that the run p lies in belongs to. */
HZ3_INLINE unsigned hz3_owner_at(const void *p)
{
    const struct hz3_window *window = hz3_window_of(p);
    return hz3_get(window->tags[hz3_granule_of(window, p)].owner);
}

/* p's state byte in the table of one byte for 1 << shift. */
HZ3_INLINE uint8_t *hz3_state_at(uintptr_t p, unsigned shift)
{
    return (uint8_t *)((uintptr_t)hz3_states + (p >> shift));
}

/* That of a class's object that p lies in the first bytes of.  p's tag is, or is about to be, cls. */
HZ3_INLINE uint8_t *hz3_state_of(const void *p, unsigned cls)
{
    return hz3_state_at((uintptr_t)p, hz3_state_shift[cls]);
}

/* The descriptor of the run that p lies in.  (Every granule of a run knows where the run starts; those of a
 * large block do not: its pointer is its start, or the caller errs.) */
HZ3_INLINE struct hz3_span *hz3_run_of(const void *p)
{
    struct hz3_window *window = hz3_window_of(p);
    uintptr_t start = window->spans[hz3_granule_of(window, p)].start;
    return &window->spans[(start - window->base) >> HZ3_GRANULE_SHIFT];
}

/* The descriptor of the granule p lies in; for a large block's pointer, the block's. */
HZ3_INLINE struct hz3_span *hz3_span_at(const void *p)
{
    struct hz3_window *window = hz3_window_of(p);
    return &window->spans[hz3_granule_of(window, p)];
}

/* Tags the granules from `start` on. */
void hz3_map_tag(uintptr_t start, size_t granules, unsigned cls, unsigned owner);
/* The same for the owner alone, also where objects are live. */
void hz3_map_own(uintptr_t start, size_t granules, unsigned owner);
/* The same for granules that somebody else's mapping lies in. */
void hz3_map_skip(uintptr_t start, size_t granules);
/* The span, a run or a large block, is neither any more. */
void hz3_map_clear(const struct hz3_span *span);
extern const struct hz3_place hz3_map_places[]; /* for readers outside: base/layout */
#endif
