/* How much may be resident, and how much free, before it goes back to the system. */
#ifndef HZ3_BACK_LIMITS_H
#define HZ3_BACK_LIMITS_H

#include "back/gauges.h"
#include "base/layout.h"
#include "os/os.h"

/* Set from the options. */
extern uint32_t hz3_pages_decay;               /* ms: how long freed memory stays */
extern HZ3_ATOMIC(size_t) hz3_pages_dirty_max; /* bytes kept dirty at most, whatever their age; */
extern bool hz3_pages_elastic;                 /* more while somebody attends and the heap does not grow */
extern size_t hz3_pages_soft_limit;            /* bytes resident from which all that waits goes back at once */

/* Bytes that may stay dirty while the heap grows into pages that are not there: a sixteenth of what is in use, 4 MiB at
 * least, dirty_max at most.  The bound doubles when what was given back because of it was taken again within the decay
 * time, and halves in each such time in which it was not. */
size_t hz3_pages_growth_bound(void);
/* Bytes were given back because of the bound; bytes that were given back, for whatever reason, are taken again. */
void hz3_pages_gave(size_t bytes);
void hz3_pages_retook(size_t bytes);

/* The background thread is there to purge what grows old; set by reclaim. */
extern HZ3_ATOMIC(bool) hz3_pages_attended;

/* Bytes that may be resident, tables apart. */
HZ3_INLINE size_t hz3_pages_resident(void)
{
    return hz3_gauge(HZ3_GAUGE_USED) + hz3_gauge(HZ3_GAUGE_DIRTY);
}

/* From so much on the background thread is worth it. */
#define HZ3_PAGES_MUCH HZ3_MIB(32)

/* Bytes that a purge could give back. */
HZ3_INLINE size_t hz3_pages_waiting(void)
{
    return hz3_gauge(HZ3_GAUGE_DIRTY) + hz3_gauge(HZ3_GAUGE_LARGE_CACHED) + hz3_gauge(HZ3_GAUGE_RESERVED) +
           hz3_gauge(HZ3_GAUGE_IDLE);
}

/* The soft limit counts state bytes too: as many as runs of small objects, in use and freed, have at most. */
HZ3_INLINE bool hz3_pages_above_limit(void)
{
    size_t described = hz3_gauge(HZ3_GAUGE_SMALL) + hz3_gauge(HZ3_GAUGE_DIRTY);
    return unlikely(hz3_pages_resident() + (HZ3_FREE_CHECK ? described / HZ3_UNIT : 0) > hz3_pages_soft_limit);
}

/* Above it with something to give back: what is in use, or was never touched, would press for ever. */
HZ3_INLINE bool hz3_pages_pressed(void)
{
    return hz3_pages_above_limit() && hz3_pages_waiting() > hz3_pages_soft_limit / 32;
}

/* The process locks its memory: what is mapped is paid for at once, so little is kept that is not in use. */
extern HZ3_ATOMIC(bool) hz3_pages_are_locked;
void hz3_pages_locked(void);
/* Whether address space costs something though nobody touches it. */
HZ3_INLINE bool hz3_pages_mapped_counts(void)
{
    return hz3_os.counts_mapped || hz3_get(hz3_pages_are_locked);
}
extern const struct hz3_place hz3_limits_places[]; /* for readers outside: base/layout */
#endif
