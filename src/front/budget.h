/* What a thread's magazines may hold.  Capacity is earned: a class starts with small magazines (large ones with none)
 * and doubles them when it misses, as far as the thread's and the process's byte budgets go
 * (docs/design/front.md); what has not missed for an epoch gives half back. */
#ifndef HZ3_FRONT_BUDGET_H
#define HZ3_FRONT_BUDGET_H

#include "front/thread.h"

/* thread_bytes: the most one thread earns; total_bytes: all of them together. */
void hz3_cache_budgets(size_t thread_bytes, size_t total_bytes);

/* What a class has for nothing. */
unsigned hz3_budget_free_capacity(unsigned cls);
/* The class missed: its room doubles.  Nobody takes more than a quarter of what is left for all, as in shared packet
 * buffers (Choudhury & Hahne 1998, dynamic thresholds): few may have much, and there is some for whoever comes next.
 * Who has twice as much, since others came after him, gives some back. */
void hz3_budget_earn(struct hz3_thread *self, unsigned cls);
/* A new epoch, unless this thread has seen it: classes that nobody asked for since the last one give back their
 * previous magazine and half of what they earned. */
void hz3_cache_pass_epoch(uint32_t epoch);
/* The thread gives back all that it earned, and what its magazines hold beyond the rest. */
void hz3_budget_settle(struct hz3_thread *self);

/* Of the budget of all threads, what none has, and what is lent: the total less `reserved - lent` of all threads. Below
 * 0 after sleepers took back what others have by then. */
extern HZ3_ATOMIC(intptr_t) hz3_budget_unclaimed;
/* Lends for a thread without a slow call since the last time, under hz3_threads_lock.  Before a sleeper comes here
 * again it takes back what is lent; until then it may fill its magazines, which is seen the next time. */
void hz3_budget_lend(struct hz3_thread *thread);
HZ3_INLINE void hz3_budget_take_back(struct hz3_thread *thread)
{
    if (hz3_get(thread->lent))
        hz3_sub(hz3_budget_unclaimed, (intptr_t)hz3_exchange(thread->lent, 0, memory_order_relaxed));
}
/* A thread is no more, or, after a fork, the only one if it `counts`. */
void hz3_budget_forget(struct hz3_thread *thread);
void hz3_budget_after_fork(struct hz3_thread *self, bool counts);
#endif
