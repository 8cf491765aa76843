/* How much could go back to the system, and a pass, which gives it back.  A pass retires what the owner stashes and the
 * transfer cache did not need, and purges what has waited for the decay time: idle pages of runs, large blocks in their
 * cache, dirty spans. */
#pragma once

#include "back/policy.h"
#include "os/lock.h"

/* Held during a pass, except one that the program asked for. */
extern struct hz3_lock hz3_reclaim_lock;
extern HZ3_ATOMIC(uint32_t) hz3_reclaim_interval; /* ms: the time from pass to pass */

/* Bytes that could go back: in free spans, and in free objects in runs, shared caches and stashes. */
size_t hz3_reclaim_waiting(void);
/* Upper bound of what a search could give back, in bytes: everything that is free or in runs, including what no gauge
 * counts as free, such as objects in magazines. */
size_t hz3_reclaim_at_most(void);
/* Whether memory is above the soft limit and more than a 32nd of the limit could go back.  Counts all that waits, where
 * hz3_pages_over_limit counts pages only. */
bool hz3_reclaim_over_limit(void);
/* Whether growth should retire cached objects and purge runs: more of them is free than the growth bound allows, and
 * purging runs would not break huge pages. */
bool hz3_reclaim_grows_beside_free(void);

/* Makes one pass; `force`: whatever the age of memory.  Returns the bytes given back. */
size_t hz3_reclaim_run(bool force);

/* The lock is held for all that follow.  Threads that made no slow call for long lend what they do not use; up to
 * `most` of them are emptied. */
void hz3_reclaim_look_after_sleepers(unsigned most);
/* Makes a slice of a pass: every eighth class, and an eighth of the rest.  After a decay time of slices in vain, those
 * of one pass break huge pages. */
void hz3_reclaim_slice(uint32_t slice);
/* Makes a pass for the background thread; returns the bytes given back. */
size_t hz3_reclaim_whole(bool all, bool break_huge_pages);
/* The parts of a pass that ignores all ages.  The last two return the bytes given back; those of runs include what had
 * gone before. */
void hz3_reclaim_retire_all(void);
size_t hz3_reclaim_purge_all_runs(bool break_huge_pages);
size_t hz3_reclaim_purge_all_spans(bool break_huge_pages);
/* Whether a pass (slices: 1), or a slice, that gave back so many bytes was in vain. */
bool hz3_reclaim_made_no_progress(size_t bytes, unsigned slices);
/* To be called when `grown` bytes of new pages were taken: retires so many bytes of objects from the transfer cache,
 * and purges so many bytes of idle pages of runs. */
void hz3_reclaim_for_growth(size_t grown);
