/* The page pool: spans of granules, for runs and large blocks.  Free spans stay dirty for the decay
 * time (a block freed and asked for again costs no system call), then are purged and stay as clean address
 * space, or are unmapped where what is mapped counts.  Neighbours of the same state merge.  Everything here is under
 * one lock, which is never held during a purge.  Talks to the map, spans and VMA edges below; must not know of objects,
 * classes or threads. */
#ifndef HZ3_BACK_PAGES_H
#define HZ3_BACK_PAGES_H

#include "back/page_map.h"
#include "os/lock.h"

/* A span of at least one granule, its start on a multiple of align_granules (a power of two), its
 * descriptor filled in but for what `kind` adds.  NULL: the system has no memory. */
struct hz3_span *hz3_pages_alloc(size_t granules, size_t align_granules, enum hz3_span_kind kind);
/* The same for a run.  One of a single granule comes from the heap's *reserve if there is one; where nothing is dirty,
 * and a huge page would soon be in use as a whole, it gets one of that size.  The heap's lock is held. */
struct hz3_span *hz3_pages_alloc_run(size_t granules, struct hz3_span **reserve);
void hz3_pages_free(struct hz3_span *span);
/* The same, and its pages go at once; returns the bytes purged. */
size_t hz3_pages_discard(struct hz3_span *span, bool break_huge_pages);

/* The pages of an allocated span go, so that it reads as zero.  False: the system refused. */
bool hz3_pages_zero(struct hz3_span *span);

/* Resizes in place.  Growing fails unless the right neighbour is free, or, with `extend`, is a hole or the end of what
 * the window has mapped, and the system has the memory. */
void hz3_pages_shrink(struct hz3_span *span, size_t granules);
bool hz3_pages_grow(struct hz3_span *span, size_t granules, bool extend);
/* Moves the pages of `from` over those of `to` (both allocated, `to` no smaller) and frees `from`; or fails and
 * frees `to`. */
bool hz3_pages_move(struct hz3_span *to, struct hz3_span *from);
/* Not while back/vma_edges is full; nor, where what is mapped counts, of more than one mapping: the system may have no
 * room half-way. */
bool hz3_pages_may_move(const struct hz3_span *span);

/* Purges free spans that are dirty since before now - age ms, oldest first, until at most `keep` dirty bytes
 * are left or no span is that old.  Returns the bytes purged. */
size_t hz3_pages_purge(uint32_t age, size_t keep, bool break_huge_pages);

/* After huge pages were broken: where that gave much back, keeps the system from making them whole again, and purges
 * once more what is free and clean, which it may have filled till now. */
void hz3_pages_stay_broken(void);

/* Purges at once what is more than may stay free; called after each free. */
void hz3_pages_heed_limits(void);

/* The process locks its memory: keep little that is not in use. */
void hz3_pages_locked(void);

/* Whether the system would not take pages back (locked memory, say) a short while ago. */
bool hz3_pages_refused(void);
/* Whether a signal handler of this thread landed in a purge.  Others may wait for its pages, and hold locks. */
bool hz3_pages_purging_here(void);
/* In a forked child: takes back the spans that threads of the parent were purging, if every structure is `whole`. */
void hz3_pages_after_fork(bool whole);

struct hz3_pages_stats {
    HZ3_ATOMIC(size_t) used, dirty, clean, unmapped; /* bytes of address space, by state */
    HZ3_ATOMIC(size_t) large_cached;                 /* of `used`: freed blocks that back/large_cache keeps */
    HZ3_ATOMIC(size_t) reserved;                     /* of `used`: heaps' reserves */
    HZ3_ATOMIC(size_t) small, growing; /* of `used`: runs of one granule; and those with objects never handed out */
    HZ3_ATOMIC(size_t) idle;     /* of `used`: free objects in runs, since the run's last purge; middle/central's */
    HZ3_ATOMIC(uint64_t) purged; /* bytes, ever */
};
extern struct hz3_pages_stats hz3_pages_stats;
extern struct hz3_lock hz3_pages_lock; /* for fork */

/* Set from the options. */
extern HZ3_ATOMIC(size_t) hz3_pages_dirty_max; /* bytes kept dirty at most, whatever their age; */
extern bool hz3_pages_elastic;                 /* more while somebody attends and the heap does not grow */
extern size_t hz3_pages_soft_limit;            /* bytes resident from which all that waits goes back at once */
extern bool hz3_pages_huge_never, hz3_pages_huge_always;

/* The background thread is there to purge what grows old; set by reclaim. */
extern HZ3_ATOMIC(bool) hz3_pages_attended;

/* Bytes that may be resident, tables apart. */
HZ3_INLINE size_t hz3_pages_resident(void)
{
    return hz3_get(hz3_pages_stats.used) + hz3_get(hz3_pages_stats.dirty);
}

/* From so much on the background thread is worth it. */
#define HZ3_PAGES_MUCH HZ3_MIB(32)

/* Bytes that a purge could give back. */
HZ3_INLINE size_t hz3_pages_waiting(void)
{
    const struct hz3_pages_stats *stats = &hz3_pages_stats;
    return hz3_get(stats->dirty) + hz3_get(stats->large_cached) + hz3_get(stats->reserved) + hz3_get(stats->idle);
}

/* The soft limit counts state bytes too: as many as runs of small objects, in use and freed, have at most. */
HZ3_INLINE bool hz3_pages_above_limit(void)
{
    size_t described = hz3_get(hz3_pages_stats.small) + hz3_get(hz3_pages_stats.dirty);
    return unlikely(hz3_pages_resident() + (HZ3_FREE_CHECK ? described / HZ3_UNIT : 0) > hz3_pages_soft_limit);
}

/* Above it with something to give back: what is in use, or was never touched, would press for ever. */
HZ3_INLINE bool hz3_pages_pressed(void)
{
    return hz3_pages_above_limit() && hz3_pages_waiting() > hz3_pages_soft_limit / 32;
}
#endif
