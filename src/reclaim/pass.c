#include "reclaim/pass.h"

#include "back/fork_reserve.h"
#include "back/gauges.h"
#include "back/huge_pages.h"
#include "back/large.h"
#include "back/large_cache.h"
#include "back/limits.h"
#include "back/purge.h"
#include "front/orphans.h"
#include "front/sleepers.h"
#include "front/threads.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include "os/gate.h"

enum {
    /* A thread that makes no slow call for so long sleeps; an active one seldom takes so long. */
    SLEEP_MS = HZ3_POLICY_LATER_MS / 4,
    EMPTIED_A_LOOK = 64, /* sleepers, by the background thread */
};

struct hz3_lock hz3_reclaim_lock;
HZ3_ATOMIC(uint32_t) hz3_reclaim_interval = 250;

/* ---- how much could go back, and whether it must do so at once ---- */

size_t hz3_reclaim_waiting(void)
{
    return hz3_pages_waiting() + hz3_owner_stash_waiting() + hz3_transfer_waiting() + hz3_get(hz3_orphans_waiting);
}

size_t hz3_reclaim_at_most(void)
{
    size_t used = hz3_gauge(HZ3_GAUGE_USED), live = hz3_min(hz3_get(hz3_large_bytes), used);
    size_t free = hz3_gauge(HZ3_GAUGE_DIRTY) + hz3_gauge(HZ3_GAUGE_CLEAN) + hz3_fork_reserve_bytes();
    return used - live + free + hz3_large_cache_addresses();
}

bool hz3_reclaim_over_limit(void)
{
    return hz3_pages_above_limit() && hz3_reclaim_waiting() > hz3_get(hz3_pages_soft_limit) / HZ3_POLICY_LIMIT_SHARE &&
           !hz3_pages_refused();
}

bool hz3_reclaim_grows_beside_free(void)
{
    hz3_transfer_settle(); /* else up to a MiB of this thread's would not count */
    size_t freed = hz3_gauge(HZ3_GAUGE_IDLE) + hz3_transfer_waiting();
    /* Runs in huge pages are spared: hz3_central_purge_some. */
    return freed > hz3_pages_growth_bound(freed) && !hz3_pages_refused() && hz3_heap_is_small();
}

/* ---- passes ---- */

/* What follows concerns every `slices`th class from `slice` on, and the same share of the rest. */

/* Retires what the shared caches and the stashes did not need, or all of it. */
static void trim(unsigned slice, unsigned slices, bool all)
{
    hz3_fork_reserve_settle();
    hz3_cache_clear_handoffs(slice, slices, all);
    for (unsigned cls = 1 + slice; cls <= HZ3_CLASSES; cls += slices) {
        hz3_owner_stash_trim(cls, all);
        hz3_transfer_trim(cls, all);
    }
    hz3_transfer_recount();
    for (unsigned i = slice; i < hz3_heap_count; i += slices) hz3_central_release_heap(&hz3_heaps[i]);
}

/* Purges pages of runs that have been idle for `age` ms; returns the bytes. */
static size_t purge_runs(uint32_t age, unsigned slice, unsigned slices, bool break_huge_pages)
{
    size_t purged = 0;
    for (unsigned cls = 1 + slice; cls <= HZ3_CLASSES; cls += slices) {
        purged += hz3_central_purge(cls, age, break_huge_pages);
        if (break_huge_pages) hz3_pages_stay_broken(); /* now: by the end the system would have made some whole again */
    }
    return purged;
}

static size_t purge_spans(uint32_t age, unsigned slices, bool break_huge_pages)
{
    size_t dirty = hz3_gauge(HZ3_GAUGE_DIRTY), most = hz3_max(dirty / slices, HZ3_POLICY_STEP);
    size_t purged = hz3_pages_purge(age, slices == 1 ? 0 : dirty - hz3_min(dirty, most), break_huge_pages);
    if (break_huge_pages) hz3_pages_stay_broken();
    return purged;
}

/* Gives back what has been idle for `age` ms.  Returns the bytes. */
static size_t pass(uint32_t age, unsigned slice, unsigned slices, bool break_huge_pages)
{
    trim(slice, slices, age == 0);
    size_t purged = hz3_large_cache_trim(age, break_huge_pages);
    purged += purge_runs(age, slice, slices, break_huge_pages);
    purged += purge_spans(age, slices, break_huge_pages);
    return purged;
}

size_t hz3_reclaim_run(bool force)
{
    bool all = force || hz3_reclaim_over_limit();
    return pass(all ? 0 : hz3_get(hz3_pages_decay), 0, 1, all);
}

bool hz3_reclaim_made_no_progress(size_t bytes, unsigned slices)
{
    return bytes <= hz3_reclaim_waiting() / HZ3_POLICY_WORTH / slices;
}

void hz3_reclaim_look_after_sleepers(unsigned most)
{
    static uint32_t last;
    uint32_t now = (uint32_t)hz3_os_now_ms();
    if (!hz3_ms_passed(last, SLEEP_MS, now)) return;
    last = now;
    hz3_cache_lend();
    hz3_cache_empty_sleepers(most);
}

static uint32_t no_progress; /* how many slices in succession were in vain */

void hz3_reclaim_slice(uint32_t slice)
{
    const uint32_t decay = HZ3_PASSES_PER_DECAY * HZ3_PASS_SLICES;
    bool break_huge_pages = no_progress >= decay && hz3_reclaim_waiting() >= HZ3_POLICY_STEP;
    size_t bytes = pass(hz3_get(hz3_pages_decay), slice % HZ3_PASS_SLICES, HZ3_PASS_SLICES, break_huge_pages);
    if (!hz3_gate_is_open()) return; /* a fork cut it short */
    bool worth = !hz3_reclaim_made_no_progress(bytes, HZ3_PASS_SLICES) && !break_huge_pages;
    no_progress = worth || no_progress + 1 == decay + HZ3_PASS_SLICES ? 0 : no_progress + 1;
}

size_t hz3_reclaim_whole(bool all, bool break_huge_pages)
{
    all |= hz3_reclaim_over_limit();
    hz3_reclaim_look_after_sleepers(EMPTIED_A_LOOK);
    no_progress = 0;
    return pass(all ? 0 : hz3_get(hz3_pages_decay), 0, 1, all || break_huge_pages);
}

void hz3_reclaim_retire_all(void)
{
    trim(0, 1, true);
}

size_t hz3_reclaim_purge_all_runs(bool break_huge_pages)
{
    return purge_runs(0, 0, 1, break_huge_pages);
}

size_t hz3_reclaim_purge_all_spans(bool break_huge_pages)
{
    return hz3_large_cache_trim(0, break_huge_pages) + purge_spans(0, 1, break_huge_pages);
}

void hz3_reclaim_for_growth(size_t grown)
{
    static uint32_t trims, purges; /* how many so far; the classes take turns */
    uint32_t age = hz3_max(hz3_get(hz3_pages_decay) / HZ3_POLICY_STEPS, (uint32_t)HZ3_POLICY_SOON_MS);
    size_t trimmed = 0, left = grown;
    for (unsigned i = 0; trimmed < grown && i < HZ3_CLASSES; i++)
        trimmed += hz3_transfer_trim(trims++ % HZ3_CLASSES + 1, false);
    for (unsigned i = 0; left && i < HZ3_CLASSES; i++)
        hz3_central_purge_some(purges++ % HZ3_CLASSES + 1, age, &left, false);
    hz3_transfer_recount();
}
