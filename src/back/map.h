/* The map: from a pointer to what its granule holds, and from a span's first granule to its
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
#ifndef HZ3_BACK_MAP_H
#define HZ3_BACK_MAP_H

#include "base/types.h"
#include "os/os.h"

enum hz3_span_kind {
    HZ3_SPAN_NONE, /* not the first granule of anything (nor the last of a free span) */
    HZ3_SPAN_DIRTY,
    HZ3_SPAN_CLEAN,
    HZ3_SPAN_UNMAPPED, /* a hole: its pages were moved away, would not go, or would still count; mapped again on use */
    HZ3_SPAN_RUN,
    HZ3_SPAN_LARGE,
    HZ3_SPAN_RESERVE, /* a heap's, to make runs of */
    HZ3_SPAN_PURGING, /* a free span in nobody's list while its pages go */
};

enum hz3_holder { HZ3_HELD_BY_NOBODY, HZ3_HELD_BY_HEAP, HZ3_HELD_BY_PURGER };

/* One per granule; that of a span's first granule speaks for the span, and the last one of a free
 * span repeats `kind` and `start` for its right neighbour.
 *
 * For runs:  live = objects handed out (to magazines or the program), and
 *            objects in the bitmap of free ones + live == bump <= the class's objects.
 *   const while the run lives: start, granules, kind, cls
 *   bump:      the holder (with its heap's lock); atomic, since others look whether an object is below it
 *   owner, held, bucket, links, since, idle: central's lock of the class
 *   live and the bitmap: atomic, since the holder takes while others retire */
enum { HZ3_SPAN_WORDS = HZ3_GRANULE / HZ3_UNIT / 64 };
struct hz3_span {
    uintptr_t start;
    uint32_t granules;
    uint8_t kind; /* enum hz3_span_kind */
    uint8_t cls;
    uint8_t bucket;         /* run: central's list by fullness, or UNLISTED */
    uint8_t held;           /* run: enum hz3_holder */
    uint8_t owner;          /* run: number of its heap, as in its tags */
    bool zeroed;            /* just allocated: every byte of it reads as zero */
    HZ3_ATOMIC(bool) freed; /* large: until its descriptor is that of a new block */
    HZ3_ATOMIC(bool) asked; /* for the huge page that starts here, whatever else does */
    bool aging; /* on an age list: dirty free spans by time of their freeing, runs by time of their first retire */
    HZ3_ATOMIC(uint16_t) bump;
    HZ3_ATOMIC(uint32_t) live;
    uint32_t since; /* ms, wrapping: when it came to the age list */
    uint32_t idle;  /* run: free objects that no purge has seen; of a heap's, as of the last retire */
    size_t bytes;   /* large: usable bytes; while its pages go: the purger's hz3_lock_self() */
    struct hz3_span *next, *prev;
    struct hz3_span *older, *newer;
    HZ3_ATOMIC(uint64_t) free; /* run of up to 64 objects: bit i: object i is retired; else hz3_window.free */
    /* HZ3_S121_PAGE_LOCAL_REMOTE.  Not cleared when the span changes its use: a list may still lead here. */
    HZ3_ATOMIC(uint64_t) noted[HZ3_S121_PAGE_LOCAL_REMOTE ? HZ3_SPAN_WORDS : 0]; /* bit i: object i is to be retired */
    struct hz3_span *next_announced; /* written by the one that set `announced` */
    HZ3_ATOMIC(bool) announced;      /* in an owner's list, or about to be */
} HZ3_CACHE_ALIGNED;                 /* neighbours are other heaps' */

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
extern HZ3_HIDDEN uint8_t hz3_state_shift[HZ3_BINS]; /* by class */
extern unsigned hz3_state_tables;                    /* the first so many are in use */

/* bytes: of the first window, halved until the system agrees. */
void hz3_map_start(size_t bytes);
/* A further window with room for `least` bytes, twice the size of the last as long as there is space for that; or NULL.
 * Caller holds the page pool's lock, also for the next. */
struct hz3_window *hz3_map_open_window(size_t least);
/* Takes `granules` of never used address space, mapped, with its tables: the index of the first, or a reason. */
enum { HZ3_MAP_FULL = -1, HZ3_MAP_REFUSED = -2 };
int64_t hz3_map_extend(struct hz3_window *window, size_t granules);
/* Visits the descriptor of every granule that was ever in use.  Only where no other thread runs. */
void hz3_map_each_span(void (*visit)(struct hz3_span *span));
/* Whether p is in a granule that was ours at some time. */
bool hz3_map_was_used(const void *p);
size_t hz3_map_metadata_bytes(void);

/* Magazines live in one range of their own, so that 26 bits name one; never unmapped. */
enum { HZ3_MAGAZINE_AREA_BITS = 34 };
extern uintptr_t hz3_magazine_area;
/* The next never used `bytes` of it (a multiple of 256, 64 KiB at most), or 0.  Caller holds the magazine lock. */
uintptr_t hz3_map_magazines(size_t bytes);

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

HZ3_INLINE size_t hz3_span_bytes(const struct hz3_span *span)
{
    return (size_t)span->granules << HZ3_GRANULE_SHIFT;
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

/* Bytes of the huge page that the granule p lies in may be a part of, or 0. */
HZ3_INLINE size_t hz3_huge_page_at(uintptr_t p)
{
    size_t asked = hz3_os.huge_page_asked;
    if (!asked) return hz3_os.huge_page;
    return hz3_get(hz3_span_at((void *)(p & ~(asked - 1)))->asked) ? asked : 0;
}

/* Tags the granules from `start` on. */
void hz3_map_tag(uintptr_t start, size_t granules, unsigned cls, unsigned owner);
/* The same for the owner alone, also where objects are live. */
void hz3_map_own(uintptr_t start, size_t granules, unsigned owner);
#endif
