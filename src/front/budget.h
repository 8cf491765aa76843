/* How much a thread's magazines may hold.  A class earns capacity.  It starts with small magazines (large classes with
 * none), and doubles them when it misses, as far as the byte budgets of thread and process allow
 * (docs/design/front.md). A class that has not missed for an epoch gives half back. */
#pragma once

#include "front/registry.h"

/* thread_bytes: the most one thread earns; total_bytes: all of them together. */
void hz3_cache_budgets(size_t thread_bytes, size_t total_bytes);

/* The capacity with which a thread begins.  The objects of a small class's first magazine have two cache lines, so that
 * few share theirs with another thread's. */
enum { HZ3_BUDGET_START_BYTES = 128 };
HZ3_INLINE unsigned hz3_budget_start_capacity(unsigned cls)
{
    return hz3_min(hz3_max(HZ3_BUDGET_START_BYTES / hz3_class_info[cls].size, 1u), hz3_cache_free_capacity(cls));
}
/* The class missed or overflowed: its room doubles.  Objects of a page and more, while there never was a second thread,
 * earn room only if the class turned from the one to the other, since then more of it would have saved both; and nobody
 * else has a use for what the thread keeps.  No thread takes more than a quarter of what is left for all, as in shared
 * packet buffers (Choudhury & Hahne 1998, dynamic thresholds).  So a few threads may have much, and some is left for
 * the next.  A thread that has twice that threshold, since others came after it, gives some back. */
void hz3_budget_earn(struct hz3_thread *self, unsigned cls, bool turned);
/* The class took a magazine that threads had left: of small objects it may store more, by twice as many each time, as
 * far as the budgets allow. */
void hz3_budget_earn_store(struct hz3_thread *self, unsigned cls);
/* If this epoch is new to the thread: classes that did not miss in the last one give back all magazines but the loaded
 * one, and half of the room that they earned. */
void hz3_cache_pass_epoch(uint32_t epoch);
/* The thread gives back all that it earned, and the objects for which it has no room then. */
void hz3_budget_settle(struct hz3_thread *self);

/* The part of the total budget that no thread claims, or that is lent: the total less `reserved - lent` of all threads.
 * Negative after sleepers took back what others had claimed meanwhile. */
extern HZ3_ATOMIC(intptr_t) hz3_budget_unclaimed;
extern intptr_t hz3_budget_total;
HZ3_INLINE size_t hz3_budget_claimed(void)
{
    return (size_t)hz3_max(hz3_budget_total - hz3_get(hz3_budget_unclaimed), (intptr_t)0);
}
/* A thread claims so much less, or more if it is negative. */
HZ3_INLINE void hz3_budget_give(struct hz3_registry_entry *entry, intptr_t bytes)
{
    hz3_add(hz3_budget_unclaimed, bytes);
    hz3_sub(entry->claimed, bytes);
}
/* Lends for a thread that made no slow call since the last time what it does not use, or all if it was emptied; under
 * hz3_threads_lock.  With its next slow call a sleeper takes back what is lent.  Until then it may fill its magazines;
 * the next call here sees that, and it is emptied again. */
void hz3_budget_lend(struct hz3_thread *thread);
HZ3_INLINE void hz3_budget_take_back(struct hz3_thread *thread)
{
    if (hz3_get(thread->lent))
        hz3_budget_give(thread->entry, -(intptr_t)hz3_exchange(thread->lent, 0, memory_order_relaxed));
}
/* A thread has ended, of which only this is left.  hz3_threads_lock is held. */
HZ3_INLINE void hz3_budget_forget(struct hz3_registry_entry *entry)
{
    hz3_budget_give(entry, hz3_get(entry->claimed));
}
/* After a fork this thread is the only one, if it `counts`. */
void hz3_budget_after_fork(struct hz3_thread *self, bool counts);
