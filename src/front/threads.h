/* The list of threads: joining, leaving, forks, and sums over all threads. */
#pragma once

#include "front/registry.h"

extern struct hz3_lock hz3_threads_lock;
extern HZ3_ATOMIC(uint32_t) hz3_threads_none; /* a bool: no thread that joined is left; it is a futex, whose waiters are
                                               * woken */

/* at_end: runs when a thread ends; its argument means nothing. */
void hz3_cache_start(void (*at_end)(void *));
/* Call in at_end: hands this thread's cache on, or arranges that at_end runs once more after the destructors of others.
 * Returns what reclaim has to know. */
struct hz3_thread_end {
    bool left;       /* the thread had joined and has left; if not, the rest is false */
    bool last;       /* no other thread is left */
    bool burst_over; /* few threads are left of a burst: later there may be none to give back what it left */
};
struct hz3_thread_end hz3_threads_leave(void);
/* Gives a new thread a heap, and what a predecessor left there; or its state says why not. */
void hz3_threads_join(struct hz3_thread *self);

/* Removes threads that ended without their destructors, so that no fork waits for them.  Does nothing while another
 * thread has the list. */
void hz3_threads_reap(void);
void hz3_threads_reap_locked(void); /* the same, for a thread that has the list */
/* Under hz3_threads_lock: the next thread of the walk that still runs.  NULL: there was no further one. */
struct hz3_thread *hz3_threads_next(enum hz3_registry_walk walk);

/* Empties every `step`th handoff from `first` on (front/handoff), except those that were left since the last call; with
 * `all` those, too. */
void hz3_cache_clear_handoffs(unsigned first, unsigned step, bool all);
/* In a forked child: forgets the threads that it does not have and, if every structure is `whole`, takes over what they
 * had cached. */
void hz3_cache_after_fork(bool whole);

/* Call after a fork if self->has_to_answer: takes this thread's entry in the list anew. */
void hz3_threads_answer(struct hz3_thread *self);

/* For the last message of a process: the system's number of a thread whose magazines hold p, or 0.  Does not wait. */
int hz3_threads_find(const void *p, unsigned cls);

/* Sums over all threads, ended ones too; running ones may change meanwhile.  Returns how many threads there are. */
unsigned hz3_cache_stats_sum(struct hz3_cache_stats *sum);
/* Objects of the class in threads' magazines and outboxes, in handoffs, and with orphans. */
size_t hz3_cache_objects(unsigned cls);
/* Bytes of the objects that this thread holds. */
size_t hz3_cache_bytes(void);
