#include "reclaim/search.h"

#include "back/fork_reserve.h"
#include "back/large_cache.h"
#include "back/limits.h"
#include "front/evict.h"
#include "front/threads.h"
#include "middle/transfer_cache.h"
#include "os/gate.h"
#include "os/os.h"
#include "reclaim/pass.h"

enum {
    /* So much may be the last part of a run, or of a larger hole.  Less than a sixteenth of a run holds no objects. */
    ENOUGH = HZ3_GRANULE - HZ3_GRANULE / 16,
};

/* The last search that failed.  Searches at the same time may overwrite each other's; that costs a further search. */
static HZ3_ATOMIC(bool) failed;
static HZ3_ATOMIC(uint32_t) failed_at;  /* ms */
static HZ3_ATOMIC(size_t) left_waiting; /* bytes that still waited after it */
static _Thread_local size_t left_here;  /* bytes that were still in this thread's cache */

static size_t waiting(void)
{
    hz3_transfer_settle(); /* else up to a MiB of this thread's would not count */
    return hz3_reclaim_waiting() + hz3_large_cache_addresses();
}

static size_t beyond(size_t now, size_t before)
{
    return now - hz3_min(now, before);
}

/* Other threads may have purged meanwhile what waited.  So less than before is a change, too.  Nothing seems to have
 * been freed where only ended threads left something, or where it was freed during the search. */
static bool is_too_soon(void)
{
    if (!hz3_get(failed) || hz3_fork_reserve_bytes()) return false;
    size_t now = waiting(), before = hz3_get(left_waiting), here = hz3_cache_bytes();
    bool changed = now != before || here != left_here;
    if (beyond(now, before) + beyond(here, left_here) >= ENOUGH || (changed && hz3_cache_flush_may_help()))
        return false;
    return !hz3_ms_passed(hz3_get(failed_at), changed ? HZ3_POLICY_SOON_MS : HZ3_POLICY_LATER_MS,
                          (uint32_t)hz3_os_now_ms());
}

bool hz3_reclaim_search(size_t bytes)
{
    if (is_too_soon() || !hz3_pages_may_help(bytes, hz3_reclaim_at_most())) return false;
    hz3_set(failed, false);
    hz3_gate_enter_at_last();
    hz3_fork_reserve_empty();
    hz3_cache_flush();
    hz3_reclaim_run(true);
    hz3_gate_leave();
    return true;
}

void hz3_reclaim_search_failed(void)
{
    left_here = hz3_cache_bytes();
    hz3_set(left_waiting, waiting());
    hz3_set(failed_at, (uint32_t)hz3_os_now_ms());
    hz3_set(failed, true);
}
