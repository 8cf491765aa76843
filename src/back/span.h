/* The descriptor of a span: what a granule, or several in a row, are used for. */
#ifndef HZ3_BACK_SPAN_H
#define HZ3_BACK_SPAN_H

#include "base/types.h"

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

/* One per granule; that of a span's first granule speaks for the span, and the last one of a free span repeats `kind`
 * and `start` for its right neighbour.  What is in the union is its kind's alone.  Aligned, since neighbours are other
 * heaps'.
 *
 * For runs:  live = objects handed out (to magazines or the program), and
 *            objects in the bitmap of free ones + live == bump <= the class's objects.
 *   const while the run lives: start, granules, kind, cls
 *   bump:      the holder (with its heap's lock); atomic, since others look whether an object is below it
 *   owner, held, bucket, idle, since, links: central's lock of the class
 *   live and the bitmap: atomic, since the holder takes while others retire
 * For free spans, since and the links: the page pool's lock. */
enum { HZ3_SPAN_WORDS = HZ3_GRANULE / HZ3_UNIT / 64 };
struct hz3_span {
    uintptr_t start;
    uint32_t granules;
    uint8_t kind;           /* enum hz3_span_kind */
    bool zeroed;            /* just allocated: every byte of it reads as zero */
    HZ3_ATOMIC(bool) freed; /* a large block was; until the descriptor is that of a new one, whatever it is meanwhile */
    HZ3_ATOMIC(bool) asked; /* for the huge page that starts here, whatever else does */
    union {
        struct {
            /* a run */
            HZ3_ATOMIC(uint16_t) bump;
            uint8_t cls;
            uint8_t bucket; /* central's list by fullness, or UNLISTED */
            uint8_t held;   /* enum hz3_holder */
            uint8_t owner;  /* number of its heap, as in its tags */
            HZ3_ATOMIC(uint32_t) live;
            uint32_t idle;             /* free objects that no purge has seen; of a heap's, as of the last retire */
            HZ3_ATOMIC(uint64_t) free; /* of up to 64 objects: bit i: object i is retired; else hz3_window.free */
        };
        struct {
            /* a large block */
            size_t bytes;                /* usable */
            HZ3_ATOMIC(uint32_t) sample; /* of watch/profile, or 0 */
        };
    };
    bool aging;     /* on an age list: dirty spans by time of their freeing, runs by time of their first retire */
    uint32_t since; /* ms, wrapping: when it came to the age list */
    struct hz3_span *next, *prev;
    struct hz3_span *older, *newer;
    /* HZ3_S121_PAGE_LOCAL_REMOTE.  Not cleared when the span changes its use: a list may still lead here. */
    HZ3_ATOMIC(bool) announced;      /* in an owner's list, or about to be */
    struct hz3_span *next_announced; /* written by the one that set `announced` */
    HZ3_ATOMIC(uint64_t) noted[HZ3_S121_PAGE_LOCAL_REMOTE ? HZ3_SPAN_WORDS : 0]; /* bit i: object i is to be retired */
} HZ3_CACHE_ALIGNED;

HZ3_INLINE size_t hz3_span_bytes(const struct hz3_span *span)
{
    return (size_t)span->granules << HZ3_GRANULE_SHIFT;
}
#endif
