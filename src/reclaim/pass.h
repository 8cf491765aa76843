/* A pass: memory goes home.  It returns what the owner stashes and the transfer cache did not need, purges the idle
 * pages of runs and the free spans that have been dirty for the decay time. */
#ifndef HZ3_RECLAIM_PASS_H
#define HZ3_RECLAIM_PASS_H

#include "os/lock.h"

enum {
    HZ3_PASSES_PER_DECAY = 4,
    HZ3_PASS_SLICES = 8, /* of a pass: every so manyth class, and as much of the rest */
};

/* Held during a pass, but for one that somebody asked for. */
extern struct hz3_lock hz3_reclaim_lock;
extern uint32_t hz3_reclaim_decay, hz3_reclaim_interval; /* ms: of memory, and from pass to pass */

/* One pass; `force`: whatever the age.  Returns the bytes given back. */
size_t hz3_reclaim_run(bool force);

/* The lock is held for the rest.  Threads without a slow call for long lend what they do not use. */
void hz3_reclaim_look_after_sleepers(void);
/* A slice of a pass; after a decay in vain a turn of them breaks huge pages. */
void hz3_reclaim_slice(uint32_t slice);
/* A pass as the background thread makes one; returns the bytes. */
size_t hz3_reclaim_whole(bool all, bool break_huge_pages);
/* Whether a pass, or a slice, that gave back so many bytes was in vain. */
bool hz3_reclaim_in_vain(size_t bytes, unsigned slices);
/* For what was taken of pages that were not there: as many bytes go from the transfer cache to their runs, and runs of
 * as many bytes give back idle pages. */
void hz3_reclaim_as_many(size_t grown);
#endif
