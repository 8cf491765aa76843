#include "api/init.h"

#include "api/entry.h"
#include "api/options.h"
#include "api/report.h"
#include "back/arena.h"
#include "back/huge_pages.h"
#include "back/learn.h"
#include "back/limits.h"
#include "back/rent.h"
#include "base/sizeclass.h"
#include "front/budget.h"
#include "front/threads.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include "os/gate.h"
#include "reclaim/background.h"
#include "reclaim/visit.h"
#include HZ3_SECURE_H
#include "watch/guard.h"
#include "watch/profile.h"
#include "watch/sample.h"

#include <pthread.h>
#include <sys/resource.h>

HZ3_ATOMIC(bool) hz3_started;
static bool options_read;

static void set_retain(void)
{
    hz3_set(hz3_pages_retain_learns, hz3_options.retain_learns);
    hz3_set(hz3_pages_adaptive, hz3_options.retain_auto && hz3_options.DECAY <= 1000);
    hz3_set(hz3_pages_dirty_max, hz3_options.RETAIN);
    hz3_set(hz3_rent_share, (uint32_t)hz3_options.RETAIN_SHARE);
    if (hz3_get(hz3_pages_are_locked)) hz3_pages_locked();
}

void hz3_memory_unlocked(void)
{
    if (likely(!hz3_get(hz3_pages_are_locked))) return;
    hz3_set(hz3_pages_are_locked, false);
    set_retain();
}

static void set_profile(void)
{
    hz3_set(hz3_profile_wanted, hz3_options.PROFILE);
    hz3_profile_set(hz3_options.PROFILE);
}

void hz3_option_changed(const size_t *option)
{
    if (option == &hz3_options.DECAY) {
        hz3_reclaim_start((uint32_t)hz3_options.DECAY);
        hz3_os_wake(&hz3_threads_none); /* the background thread may have begun to wait for the decay time before */
    }
    set_retain();
    if (option == &hz3_options.BACKGROUND) hz3_reclaim_allow_background(hz3_options.BACKGROUND);
    if (option == &hz3_options.PROFILE) hz3_set(hz3_profile_wanted, hz3_options.PROFILE);
    if (option != &hz3_options.SOFT_LIMIT) return;
    hz3_gate_enter_at_last();
    hz3_learn_start(hz3_options.SOFT_LIMIT);
    hz3_learn_now(); /* the limit of the control group, where that is wanted */
    hz3_gate_leave();
}

static void apply_options(void)
{
    hz3_learn_start(hz3_options.SOFT_LIMIT);
    set_retain();
    hz3_huge_pages = (enum hz3_thp)hz3_options.THP;
    hz3_transfer_start(hz3_options.TRANSFER_CACHE);
    hz3_heap_count = (unsigned)hz3_options.HEAPS;
    hz3_owner_stash_start();
    hz3_cache_budgets(hz3_options.THREAD_CACHE, hz3_options.CACHE_TOTAL);
    hz3_reclaim_start((uint32_t)hz3_options.DECAY);
}

static void thread_ends(void *unused)
{
    (void)unused;
    struct hz3_thread_end end = hz3_threads_leave();
    hz3_reclaim_thread_left(&end);
}

HZ3_COLD void hz3_start(void)
{
    static struct hz3_lock lock;
    hz3_lock(&lock);
    if (!hz3_get(hz3_started)) {
        hz3_os_start();
        hz3_seal_start();
        options_read = hz3_options_load();
        hz3_sizeclass_start();
        hz3_arena_start(hz3_min(hz3_options.WINDOW, hz3_os.address_space * 1024));
        hz3_cache_start(thread_ends);
        apply_options();
        hz3_store(hz3_started, true, memory_order_release);
    }
    hz3_unlock(&lock);
    /* As early as possible: fork handlers that were registered before ours run while the gate is closed. */
    static HZ3_ATOMIC(bool) prepared;
    if (!hz3_exchange(prepared, true, memory_order_relaxed))
        pthread_atfork(hz3_fork_prepare, hz3_fork_parent, hz3_fork_child);
}

/* The part of the start that needs libc. */
__attribute__((constructor(101))) static void constructed(void)
{
    hz3_ensure_started();
    hz3_os_libc_started();
    if (!options_read && hz3_options_load()) apply_options();
    if (hz3_options.VERBOSE) { /* which prints the resulting limit */
        hz3_os_verbose = true;
        hz3_os_bytes_allowed(RLIMIT_AS); /* it was asked for when nothing could be said of it */
        hz3_gate_enter_at_last();
        hz3_learn();
        hz3_gate_leave();
    }
    if (hz3_options.FOREIGN_FREE == HZ3_FOREIGN_LIBC) hz3_foreign_start();
    hz3_options_report();
    hz3_reclaim_allow_background(hz3_options.BACKGROUND);
    hz3_report_start();
    if (hz3_options.GUARD && hz3_guard_start()) hz3_sample_start(HZ3_SAMPLE_GUARD, hz3_options.GUARD);
    if (hz3_options.PROFILE) set_profile();
}
