/* The page map leads from a pointer to what its granule holds, and from a span's first granule to its
 * descriptor.  All that is known of objects is here, beside them; nothing is ever written into free ones.
 *
 * A window's address range is described by three flat tables beside it and three for all windows:
 *
 *     tags    [offset >> 16]   2 bytes for each granule, readable over the whole window: class and owner; 0 where
 *                              nothing is hz3's, and in a large block after its first granule; NONE and ZONE in what
 *                              back/zone hands out
 *     spans   [offset >> 16]   a descriptor for each granule, mapped as far as the window is in use
 *     free    [offset >> 16]   a bitmap for each granule, mapped as far as spans are: for runs of more than 64 objects;
 *                              its pages go back with the runs
 *     hz3_states [address >> 4]  a state byte for each 16 (HZ3_FREE_CHECK only), mapped where runs are (back/states):
 *                                where a live object starts, 1 more than the low byte of its address; elsewhere 0
 *                [address >> 6]  for objects of 64 bytes and more, a byte for each 64, in which no two start
 *                [address >> 8]  for objects of 256 bytes and more, a byte for each 256
 *
 * Every fast path uses the first window.  Far windows are opened when it is used up, or could only be made small.  They
 * have the same structure, and a loop on slow paths finds them, so memory has no hard ceiling.  But where the system
 * refuses our addresses windows are reservations, and then state bytes have a place for the first window only. */
#pragma once

#include "back/span.h"
#include "os/os.h"

/* cls: changes only while no object in the granule is live.  owner: the number of a heap; may change at any time: it is
 * a hint, and a stale value costs nothing but time. */
struct hz3_tag {
    uint8_t cls;
    HZ3_ATOMIC(uint8_t) owner;
};

enum { HZ3_STATE_TABLES = 3 };
HZ3_INLINE unsigned hz3_state_table_shift(unsigned table)
{
    return HZ3_UNIT_SHIFT + 2 * table;
}

/* For each span of a window: its last granule < min(frontier, tags_writable, spans_mapped, free_mapped).  Granules
 * below frontier that are in no span are left out: somebody else has mapped them, or no state bytes could be mapped
 * there.  In a window that has ended, frontier is the number of all its granules.  Under the page pool's lock. */
struct hz3_window {
    uintptr_t base;
    size_t bytes;
    struct hz3_tag *tags;
    struct hz3_span *spans;
    HZ3_ATOMIC(uint64_t) (*free)[HZ3_SPAN_WORDS]; /* bit i of a run's bitmap: object i is retired */
    uint32_t frontier;                            /* granules below it were mapped at some time */
    uint32_t tags_writable;                       /* granules whose tags are */
    uint32_t spans_mapped;                        /* granules whose descriptors are */
    uint32_t free_mapped;                         /* granules whose bitmaps are */
    size_t state_bytes;                           /* mapped, in all tables of them */
    /* Granules below it are to get no new huge pages: hz3_pages_stay_broken. */
    HZ3_ATOMIC(uint32_t) broken;
    bool reserved; /* a reservation: all of its addresses are hz3's already, not yet readable */
};

enum { HZ3_WINDOWS_MAX = 48 };
extern HZ3_HIDDEN struct hz3_window hz3_windows[HZ3_WINDOWS_MAX]; /* [0] is hot: read by every free */
extern HZ3_ATOMIC(uint32_t) hz3_window_count;
/* Const once there is a window; an address that was never mapped has no state bytes. */
extern HZ3_HIDDEN uint8_t *hz3_states;
extern HZ3_HIDDEN uint8_t hz3_state_shift[HZ3_CLASS_VALUES]; /* by class */
extern unsigned hz3_state_tables;                            /* how many are in use */

/* Beside HZ3_CLASS_NONE in a tag: the granule is in a run of a zone, or the first one of a large block there.  So
 * malloc and free take their slow paths. */
enum { HZ3_OWNER_ZONE = 2 };

/* Whether p lies in a granule that hz3 has used. */
bool hz3_map_was_used(const void *p);

HZ3_INLINE bool hz3_window_has(const struct hz3_window *window, const void *p)
{
    return (uintptr_t)p - window->base < window->bytes;
}

/* The window that p lies in, or NULL. */
HZ3_INLINE struct hz3_window *hz3_window_or_none(const void *p)
{
    if (likely(hz3_window_has(&hz3_windows[0], p))) return &hz3_windows[0];
    uint32_t count = hz3_load(hz3_window_count, memory_order_acquire);
    for (uint32_t i = 1; i < count; i++)
        if (hz3_window_has(&hz3_windows[i], p)) return &hz3_windows[i];
    return NULL;
}

/* The window of a p that lies in one. */
HZ3_INLINE struct hz3_window *hz3_window_of(const void *p)
{
    struct hz3_window *window = hz3_window_or_none(p);
    if (!window) __builtin_unreachable();
    return window;
}

HZ3_INLINE size_t hz3_granule_of(const struct hz3_window *window, const void *p)
{
    return ((uintptr_t)p - window->base) >> HZ3_GRANULE_SHIFT;
}

HZ3_INLINE size_t hz3_first_granule(const struct hz3_window *window, const struct hz3_span *span)
{
    return hz3_granule_of(window, (void *)span->start);
}

/* The class in p's tag: a size class, LARGE, or NONE (not hz3's, or not the first granule of a large block). */
HZ3_INLINE unsigned hz3_class_at(const void *p)
{
    const struct hz3_window *window = hz3_window_or_none(p);
    return window ? window->tags[hz3_granule_of(window, p)].cls : (unsigned)HZ3_CLASS_NONE;
}

/* The owner of the run that p lies in. */
HZ3_INLINE unsigned hz3_owner_at(const void *p)
{
    const struct hz3_window *window = hz3_window_of(p);
    return hz3_get(window->tags[hz3_granule_of(window, p)].owner);
}

/* p's state byte, in the table that has one for each 1 << shift bytes. */
HZ3_INLINE uint8_t *hz3_state_at(uintptr_t p, unsigned shift)
{
    return (uint8_t *)((uintptr_t)hz3_states + (p >> shift));
}

/* The table of the class. */
HZ3_INLINE unsigned hz3_state_table(unsigned cls)
{
    return (hz3_state_shift[cls] - HZ3_UNIT_SHIFT) / 2u;
}

/* p's state byte, in the table of the class.  p's tag is cls, a size class, or is about to be. */
HZ3_INLINE uint8_t *hz3_state_of(const void *p, unsigned cls)
{
    return hz3_state_at((uintptr_t)p, hz3_state_shift[cls]);
}

/* The descriptor of the run that p lies in.  Every granule's descriptor in a run has the run's start.  (Those in a
 * large block do not: there the caller has to know the start.) */
HZ3_INLINE struct hz3_span *hz3_run_of(const void *p)
{
    struct hz3_window *window = hz3_window_of(p);
    uintptr_t start = window->spans[hz3_granule_of(window, p)].start;
    return &window->spans[(start - window->base) >> HZ3_GRANULE_SHIFT];
}

/* The descriptor of the granule that p lies in; if p is the start of a large block, the block's. */
HZ3_INLINE struct hz3_span *hz3_span_at(const void *p)
{
    struct hz3_window *window = hz3_window_of(p);
    return &window->spans[hz3_granule_of(window, p)];
}

/* Writes the tags of the granules from `start` on. */
void hz3_map_tag(uintptr_t start, size_t granules, unsigned cls, unsigned owner);
/* Writes the owner alone; objects may be live. */
void hz3_map_own(uintptr_t start, size_t granules, unsigned owner);
/* Tags granules that nobody may use: somebody else's mapping lies there. */
void hz3_map_skip(uintptr_t start, size_t granules);
/* Clears the tags of a run or a large block that ended. */
void hz3_map_clear(const struct hz3_span *span);
