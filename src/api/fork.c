#include "api/fork.h"

#include "back/free_spans.h"
#include "back/large_cache.h"
#include "back/purge.h"
#include "front/threads.h"
#include "middle/owner_stash.h"
#include "middle/page_remote.h"
#include "reclaim/background.h"
#include "reclaim/pass.h"

#include <pthread.h>

/* Of the fork under way; thread-local, since threads may fork at once.  The locks are those of the outermost: a signal
 * handler that forks may land in a fork.  0 where we start while a fork is under way. */
static _Thread_local unsigned depth;
static _Thread_local bool patient;

/* In the order in which they nest. */
static void each_lock(void (*visit)(struct hz3_lock *lock))
{
    visit(&hz3_reclaim_lock);
    visit(&hz3_threads_lock);
    for (unsigned i = 0; i < hz3_heap_count; i++) visit(&hz3_heaps[i].lock);
    hz3_owner_stash_each_lock(visit);
    hz3_central_each_lock(visit);
    hz3_large_cache_each_lock(visit);
    visit(&hz3_pages_lock);
    visit(&hz3_outbox_lock);
    visit(&hz3_magazine_lock);
}

static void look(struct hz3_lock *lock)
{
    if (hz3_lock_is_mine(lock)) patient = false;
}

static void take(struct hz3_lock *lock)
{
    hz3_lock_for_fork(lock, patient);
}

static void leave_in_parent(struct hz3_lock *lock)
{
    hz3_unlock_after_fork(lock, false);
}

static void leave_in_child(struct hz3_lock *lock)
{
    hz3_unlock_after_fork(lock, true);
}

static void prepare(void)
{
    if (depth++) return;
    patient = !hz3_pages_purging_here();
    each_lock(look);
    each_lock(take);
}

static void parent(void)
{
    if (depth == 1) each_lock(leave_in_parent);
    if (depth) depth--;
}

static void repair(void)
{
    hz3_reclaim_after_fork();
    hz3_pages_after_fork(patient);
    if (patient) hz3_central_after_fork();
    if (patient) hz3_page_remote_after_fork();
    if (patient) hz3_owner_stash_after_fork();
    hz3_cache_after_fork(patient);
}

/* The locks of the fork that was interrupted stay its own, in the child too; those of others have no holder there. */
static void leave_others(struct hz3_lock *lock)
{
    if (!hz3_lock_is_mine(lock)) leave_in_child(lock);
}

static void child(void)
{
    if (!depth) return;
    if (depth > 1) patient = false;
    each_lock(depth > 1 ? leave_others : leave_in_child);
    repair();
    depth--;
}

void hz3_fork_start(void)
{
    pthread_atfork(prepare, parent, child);
}
