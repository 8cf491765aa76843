#include "reclaim/pressure.h"

#include "back/fork_reserve.h"
#include "back/gauges.h"
#include "back/large.h"
#include "back/large_cache.h"
#include "back/limits.h"
#include "back/purge.h"
#include "front/orphans.h"
#include "middle/central.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"

size_t hz3_reclaim_waiting(void)
{
    return hz3_pages_waiting() + hz3_owner_stash_waiting() + hz3_transfer_waiting() + hz3_orphans_waiting();
}

size_t hz3_reclaim_at_most(void)
{
    size_t used = hz3_gauge(HZ3_GAUGE_USED), live = hz3_min(hz3_get(hz3_large_bytes), used);
    size_t free = hz3_gauge(HZ3_GAUGE_DIRTY) + hz3_large_cache_addresses() + hz3_fork_reserve_bytes();
    return used - live + free;
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
    return freed > hz3_pages_growth_bound(freed) && !hz3_pages_refused() && !hz3_get(hz3_os.huge_page);
}
