/* fork: the gate is closed across it, so that every structure is whole in the child.  The child takes over what the
 * parent's other threads had cached. */
#include "api/init.h"
#include "api/options.h"
#include "api/report.h"
#include "back/fork_reserve.h"
#include "back/free_spans.h"
#include "back/large_cache.h"
#include "back/learn.h"
#include "back/purge.h"
#include "back/zone.h"
#include "front/orphans.h"
#include "front/threads.h"
#include "middle/owner_stash.h"
#include "os/gate.h"
#include "os/libc.h"
#include "reclaim/background.h"
#include "reclaim/pass.h"
#include "watch/guard.h"
#include "watch/profile.h"

/* How many forks are under way in this thread.  A signal handler may interrupt a fork and fork itself; it leaves the
 * gate to the fork that it interrupted.  0 in a fork during which hz3 started. */
static _Thread_local unsigned depth;
/* Every structure is whole in the child of the fork under way.  Not so if a signal handler interrupted hz3 and forks;
 * such a child may call only async-signal-safe functions. */
static _Thread_local bool whole;

static void each_lock(void (*visit)(struct hz3_lock *lock))
{
    visit(&hz3_reclaim_lock);
    visit(&hz3_threads_lock);
    for (unsigned i = 0; i < hz3_heap_count; i++) visit(&hz3_heaps[i].lock);
    hz3_owner_stash_each_lock(visit);
    hz3_central_each_lock(visit);
    hz3_zones_each_lock(visit);
    hz3_large_cache_each_lock(visit);
    visit(&hz3_pages_lock);
    visit(&hz3_learn_lock);
    visit(&hz3_fork_reserve_lock);
    visit(&hz3_outbox_lock);
    visit(&hz3_orphans_lock);
    visit(&hz3_magazine_lock);
    visit(&hz3_profile_lock);
    visit(&hz3_guard_lock);
}

void hz3_fork_prepare(void)
{
    if (depth++) return;
    if (!hz3_libc_single_threaded() && !hz3_gate_is_inside() && hz3_gate_enter()) {
        hz3_threads_reap();
        hz3_fork_reserve_fill();
        hz3_magazine_stock_up();
        hz3_gate_leave();
    }
    hz3_gate_close();
    whole = hz3_gate_drain();
}

static void settle(void)
{
    if (hz3_gate_is_inside() || !hz3_gate_enter())
        return; /* another fork is under way: the next thread that frees a large block will do it */
    hz3_fork_reserve_settle();
    hz3_gate_leave();
}

void hz3_fork_parent(void)
{
    if (depth == 1) {
        hz3_gate_open();
        settle();
    }
    if (depth) depth--;
}

void hz3_fork_child(void)
{
    if (!depth) return;
    hz3_os_after_fork();
    bool alone = hz3_gate_after_fork();
    if (!alone) each_lock(hz3_lock_forget_others); /* else nobody held one, and each look would cost a page fault */
    hz3_lock_forget_others(&hz3_options_lock);     /* which are taken outside the gate */
    hz3_lock_forget_others(&hz3_report_lock);
    hz3_lock_forget_others(&hz3_profile_setting);
    whole = alone && whole && depth == 1;
    hz3_reclaim_after_fork();
    hz3_pages_after_fork();
    hz3_memory_unlocked(); /* locks are not inherited */
    hz3_cache_after_fork(whole);
    if (depth == 1) {
        hz3_gate_open();
        settle();
    }
    depth--;
}
