/* How much may be resident, and how much free, before it goes back to the system. */
#pragma once

#include "back/gauges.h"
#include "back/page_map.h"
#include "back/policy.h"
#include "os/os.h"

/* Set from the options, at the start and while the program runs. */
extern HZ3_ATOMIC(uint32_t) hz3_pages_decay;     /* ms: how long freed memory stays */
extern HZ3_ATOMIC(size_t) hz3_pages_dirty_max;   /* bytes kept dirty at most, whatever their age; */
extern HZ3_ATOMIC(bool) hz3_pages_retain_learns; /* more may be, where less would cost too much; */
extern HZ3_ATOMIC(bool) hz3_pages_adaptive;      /* and while the background thread runs and nothing grows */
extern HZ3_ATOMIC(size_t) hz3_pages_soft_limit;  /* resident bytes above which all that waits goes back at once */
/* Bytes that the control group with the limit is charged for beside these: the program's own mappings, other processes.
 */
extern HZ3_ATOMIC(size_t) hz3_pages_charged_to_others;

/* Of `free` bytes so many may stay while hz3 takes pages that are not there yet: a sixteenth of what is in use, 512 KiB
 * at least; more where giving back cost more than it may (back/rent); dirty_max at most. */
size_t hz3_pages_growth_bound(size_t free);
/* Of `free` bytes so many may stay while it does not. */
size_t hz3_pages_retained(size_t free);

/* The background thread runs, and will purge what grows old; set by reclaim. */
extern HZ3_ATOMIC(bool) hz3_pages_purger_runs;

/* Bytes that may be resident, without tables. */
HZ3_INLINE size_t hz3_pages_resident(void)
{
    return hz3_gauge(HZ3_GAUGE_USED) + hz3_gauge(HZ3_GAUGE_DIRTY);
}

/* Bytes that a purge could give back. */
HZ3_INLINE size_t hz3_pages_waiting(void)
{
    return hz3_gauge(HZ3_GAUGE_DIRTY) + hz3_gauge(HZ3_GAUGE_LARGE_CACHED) + hz3_gauge(HZ3_GAUGE_IDLE);
}

/* The same with state bytes: the most that runs of small objects, in use and freed, may have. */
HZ3_INLINE size_t hz3_pages_resident_described(void)
{
    size_t described = hz3_gauge(HZ3_GAUGE_SMALL) + hz3_gauge(HZ3_GAUGE_DIRTY);
    return hz3_pages_resident() + (hz3_state_tables ? described / HZ3_UNIT : 0);
}

/* What counts towards the soft limit, in bytes. */
HZ3_INLINE size_t hz3_pages_counted(void)
{
    return hz3_pages_resident_described() + hz3_get(hz3_pages_charged_to_others);
}

HZ3_INLINE bool hz3_pages_above_limit(void)
{
    return unlikely(hz3_pages_counted() > hz3_get(hz3_pages_soft_limit));
}

/* Half of it is used. */
HZ3_INLINE bool hz3_pages_near_limit(void)
{
    return unlikely(hz3_pages_counted() > hz3_get(hz3_pages_soft_limit) / 2);
}

/* Above the limit, with memory to give back.  Without that condition, memory in use would press for ever. */
HZ3_INLINE bool hz3_pages_over_limit(void)
{
    return hz3_pages_above_limit() && hz3_pages_waiting() > hz3_get(hz3_pages_soft_limit) / HZ3_POLICY_LIMIT_SHARE;
}

/* Whether nobody gets so many bytes at once, as there is less memory (os/refusal).  Unknown, and so false, while memory
 * is locked. */
bool hz3_pages_exceed_memory(size_t bytes);

/* Whether the system has room for so many bytes more.  Unknown, and so true, while memory is locked. */
bool hz3_pages_have_room(size_t bytes);
/* Whether `bytes` that were refused may be had once `more` bytes, clean memory among them, go back to the system: these
 * are as much, or the system has room for the rest.  False: there is no point in giving them back. */
bool hz3_pages_may_help(size_t bytes, size_t more);

/* The process locks its memory: every mapped page costs memory at once, so little free memory is kept. */
extern HZ3_ATOMIC(bool) hz3_pages_are_locked;
void hz3_pages_locked(void);
/* Whether mapped memory counts though nobody touches it. */
HZ3_INLINE bool hz3_pages_mapped_counts(void)
{
    return hz3_get(hz3_os.counts_mapped) || hz3_get(hz3_pages_are_locked);
}
/* With so many bytes waiting the background thread is worth its cost: more where its stack is locked, too. */
HZ3_INLINE size_t hz3_pages_much(void)
{
    return (size_t)HZ3_POLICY_MUCH << hz3_get(hz3_pages_are_locked);
}
