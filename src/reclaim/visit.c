#include "reclaim/visit.h"

#include "back/large_cache.h"
#include "back/learn.h"
#include "back/limits.h"
#include "front/budget.h"
#include "os/gate.h"
#include "reclaim/background.h"
#include "reclaim/pass.h"

enum {
    PASS_MAX_MS = 1800 * 1000, /* `due` must not be an hour ahead, for hz3_ms_passed */
    EMPTIED_A_LOOK = 4,        /* sleepers, by a thread of the program */
};

static HZ3_ATOMIC(uint32_t) due, turn; /* when the next slice is due, in wrapping ms; how many slices there were */

void hz3_reclaim_start(uint32_t decay_ms)
{
    uint32_t interval = hz3_max(decay_ms / HZ3_PASSES_PER_DECAY, (uint32_t)HZ3_POLICY_SOON_MS);
    hz3_set(hz3_pages_decay, decay_ms);
    hz3_set(hz3_reclaim_interval, hz3_min(interval, (uint32_t)PASS_MAX_MS));
    hz3_set(due, (uint32_t)hz3_os_now_ms() + hz3_get(hz3_reclaim_interval));
}

/* The program's threads have other things to do, so each makes only the slices that are due, mostly one.  Above the
 * soft limit it makes a whole pass. */
uint32_t hz3_reclaim_tick(void)
{
    if (!hz3_gate_is_open()) return hz3_get(turn) / HZ3_PASS_SLICES; /* it had better be outside when the fork comes */
    uint32_t now = (uint32_t)hz3_os_now_ms(), since = hz3_get(due);
    uint32_t slice_ms = hz3_max(hz3_get(hz3_reclaim_interval) / HZ3_PASS_SLICES, 1u);
    hz3_learn_again(now);
    bool over_limit = hz3_reclaim_over_limit();
    if ((over_limit || hz3_ms_passed(since, 0, now)) && hz3_trylock(&hz3_reclaim_lock)) {
        uint32_t first = hz3_get(turn), slices = hz3_ms_passed(since, 0, now) ? (now - since) / slice_ms + 1 : 0;
        slices = hz3_min(slices, (uint32_t)HZ3_PASS_SLICES);
        if (slices) hz3_set(due, now + slice_ms);
        hz3_set(turn, first + slices);
        hz3_reclaim_look_after_sleepers(EMPTIED_A_LOOK);
        if (over_limit) hz3_reclaim_run(true);
        for (uint32_t i = 0; i < slices && !over_limit && !hz3_reclaim_in_background(); i++)
            hz3_reclaim_slice(first + i);
        hz3_unlock(&hz3_reclaim_lock);
    }
    hz3_reclaim_wake_purger(now);
    return hz3_get(turn) / HZ3_PASS_SLICES;
}

/* A thread makes room each time it took a step of pages that were not there.  So what is free goes over the bound by
 * little, and large heaps do not look through all classes too often. */
void hz3_reclaim_grew(size_t bytes)
{
    size_t *grown = &hz3_thread.cache.grown;
    size_t step = hz3_max(hz3_gauge(HZ3_GAUGE_USED) / HZ3_POLICY_STEPS / 2, (size_t)HZ3_GRANULE);
    *grown += bytes;
    if (*grown < hz3_min(step, HZ3_POLICY_STEP)) return;
    hz3_large_cache_make_room(*grown);
    if (hz3_pages_above_limit()) hz3_thread.due = true;
    if (hz3_reclaim_grows_beside_free() && hz3_trylock(&hz3_reclaim_lock)) {
        hz3_reclaim_for_growth(*grown);
        hz3_unlock(&hz3_reclaim_lock);
    }
    *grown = 0;
}

void hz3_reclaim_visit_slow(void)
{
    struct hz3_thread *self = &hz3_thread;
    if (!hz3_gate_enter()) return; /* `due` stays set: the next slow path tries again */
    self->due = false;
    uint32_t epoch = hz3_reclaim_tick();
    hz3_reclaim_grew(0);
    hz3_cache_pass_epoch(epoch);
    hz3_gate_leave();
}

void hz3_reclaim_thread_left(const struct hz3_thread_end *end)
{
    if (!end->left) return;
    hz3_gate_enter_at_last();
    if (end->last) hz3_cache_clear_handoffs(0, 1, true);
    if (end->burst_over) hz3_reclaim_run(true);
    hz3_reclaim_tick();
    hz3_gate_leave();
}
