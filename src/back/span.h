/* The descriptor of a span: what one granule, or several in a row, is used for. */
#pragma once

#include "base/types.h"

enum hz3_span_kind {
    HZ3_SPAN_NONE, /* not the first granule of anything (nor the last of a free span) */
    HZ3_SPAN_DIRTY,
    HZ3_SPAN_CLEAN,
    HZ3_SPAN_UNMAPPED, /* a hole, mapped again on use: mremap, back/holes, a purge or back/fork_reserve left it */
    HZ3_SPAN_RUN,
    HZ3_SPAN_LARGE,
    HZ3_SPAN_PURGING, /* a free span while its pages go back: in no list */
    HZ3_SPAN_GUARD,   /* a granule that nobody may touch, before what is behind it: secure/run_plot */
    HZ3_SPAN_WAITING, /* a freed large block that nobody may touch: secure/large_quarantine */
};

enum hz3_holder { HZ3_HELD_BY_NOBODY, HZ3_HELD_BY_HEAP, HZ3_HELD_BY_PURGER };

/* The lists that a span is in: one with its like, and one by age. */
struct hz3_span_lists {
    bool aging;     /* it is in a list by age */
    uint32_t since; /* ms, wrapping: when it came there */
    struct hz3_span *next, *prev;
    struct hz3_span *older, *newer;
};

enum { HZ3_SPAN_WORDS = HZ3_GRANULE / HZ3_UNIT / 64 }; /* of the largest bitmap of a run */

/* One for each granule.  That of a span's first granule describes the span; that of a free span's last granule repeats
 * `kind` and `start` for the right neighbour.  The unions have what only one kind has.  Aligned, since neighbours may
 * belong to other heaps.
 *
 * For runs:  live = objects handed out (to magazines or the program), and
 *            objects in the bitmap of free ones + live == bump <= the class's objects.
 *   const while the run lives: start, granules, kind, cls
 *   bump:      the holder, under its heap's lock; atomic, since other threads compare objects with it
 *   owner, held, bucket, idle, in_central: under central's lock of the class
 *   live and the bitmap: atomic, since the holder takes objects while other threads retire some
 * in_pool: under the page pool's lock. */
struct hz3_span {
    uintptr_t start;
    uint32_t granules;
    uint8_t kind;           /* enum hz3_span_kind */
    bool zeroed;            /* when it was allocated every byte of it read as zero */
    HZ3_ATOMIC(bool) freed; /* the last large block that started here was freed; stays until the next one starts */
    union {
        struct {
            /* a run */
            HZ3_ATOMIC(uint16_t) bump;
            uint8_t cls;
            uint8_t bucket; /* which of central's lists by fullness it is in, or UNLISTED */
            uint8_t held;   /* enum hz3_holder */
            uint8_t owner;  /* number of its heap, as in its tags */
            HZ3_ATOMIC(uint32_t) live;
            uint32_t idle;             /* free objects since the last purge; of a held run, as of the last retire */
            HZ3_ATOMIC(uint64_t) free; /* bit i: object i is retired; a run of more than 64 has hz3_window.free */
        };
        struct {
            /* a large block */
            size_t bytes;                /* usable */
            HZ3_ATOMIC(uint32_t) sample; /* of watch/profile, or 0 */
        };
    };
    union {
        /* A free span: with its like; a dirty one also by when it was freed. */
        struct hz3_span_lists in_pool;
        /* A run: in its bucket, and by its first retire. */
        struct hz3_span_lists in_central;
        /* A large block of back/fork_reserve: `newer` links those taken, `older` those freed. */
        struct hz3_span_lists in_reserve;
        /* A run or a large block of a zone. */
        struct {
            struct hz3_zone *zone;
            struct hz3_span *next, *prev; /* in one of its lists; under its lock */
        } in_zone;
    };
    HZ3_ATOMIC(uint8_t) states; /* bit t: the part of table t of state bytes that begins with this granule is mapped */
} HZ3_CACHE_ALIGNED;

HZ3_INLINE size_t hz3_span_bytes(const struct hz3_span *span)
{
    return (size_t)span->granules << HZ3_GRANULE_SHIFT;
}
