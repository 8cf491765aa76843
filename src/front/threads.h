/* The list of threads: how they join, what they leave behind when they end, what becomes of them in a forked child, and
 * what all of them hold. */
#ifndef HZ3_FRONT_THREADS_H
#define HZ3_FRONT_THREADS_H

#include "base/layout.h"
#include "front/thread.h"

extern struct hz3_lock hz3_threads_lock;
extern HZ3_ATOMIC(uint32_t) hz3_threads_none; /* a bool: none of those that joined is left; who waits on it is woken */

/* at_end: what a thread's end runs, with any argument. */
void hz3_cache_start(void (*at_end)(void *));
/* By at_end: what this thread caches is left to others, or goes home.  What came of that: */
struct hz3_departure {
    bool left;      /* the rest is false unless the thread had joined */
    bool last;      /* no other is left */
    bool dispersed; /* of a crowd few are left: nobody may be there later to take what it leaves behind home */
};
struct hz3_departure hz3_cache_depart(void);
/* A thread that is new gets a heap, and what its predecessor left; or its state says why not. */
void hz3_threads_join(struct hz3_thread *self);

/* Threads without a slow call since the last time lend what they claim of the total, beyond what they hold. */
void hz3_cache_lend(void);
/* What ended threads left in every `step`th handoff from `first` on (front/handoff) goes home, unless it was left since
 * the last call and not `all` is to go. */
void hz3_cache_clear_handoffs(unsigned first, unsigned step, bool all);
/* In a forked child: forgets the threads that are gone, and, if every structure is `whole`, takes over what they
 * had cached. */
void hz3_cache_after_fork(bool whole);

/* For last words: the system's number of a thread whose magazines hold p, or 0.  Waits for nobody. */
int hz3_threads_find(const void *p, unsigned cls);

/* Sums over all threads, dead ones too; of live ones as they happen to be. */
void hz3_cache_stats_sum(struct hz3_cache_stats *sum);
size_t hz3_cache_objects(unsigned cls); /* in magazines and outboxes of live threads, and in handoffs */
/* HZ3_BOXES_ON: what this thread counted stays in the sum, though it be on no list. */
void hz3_cache_bury_counters(void);
void hz3_cache_counters_sum(struct hz3_counters *sum);
extern const struct hz3_place hz3_threads_places[]; /* for readers outside: base/layout */
#endif
