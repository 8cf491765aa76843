#include "reclaim/search.h"

#include "back/fork_reserve.h"
#include "base/sizeclass.h"
#include "front/evict.h"
#include "front/thread.h"
#include "os/gate.h"
#include "os/os.h"
#include "reclaim/pass.h"
#include "reclaim/pressure.h"

enum { PAUSE_MS = 100 }; /* the least time from a search in vain to the next, unless something is freed */

/* The last search that failed.  Searches at the same time may overwrite each other's; that costs a further search. */
static HZ3_ATOMIC(bool) failed;
static HZ3_ATOMIC(uint32_t) failed_at;  /* ms */
static HZ3_ATOMIC(size_t) left_waiting; /* bytes that still waited after it */
static _Thread_local size_t left_here;  /* bytes that were still in this thread's cache */

static size_t cached_here(void)
{
    size_t bytes = 0;
    if (hz3_thread.state != HZ3_THREAD_JOINED) return 0;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++)
        bytes += hz3_cache_count(&hz3_thread.cache, cls) * hz3_class_size(cls);
    return bytes;
}

static bool is_pointless(void)
{
    return hz3_get(failed) && !hz3_ms_passed(hz3_get(failed_at), PAUSE_MS, (uint32_t)hz3_os_now_ms()) &&
           hz3_fork_reserve_is_empty() && hz3_reclaim_waiting() <= hz3_get(left_waiting) && cached_here() <= left_here;
}

bool hz3_reclaim_search(void)
{
    if (is_pointless()) return false;
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
    left_here = cached_here();
    hz3_set(left_waiting, hz3_reclaim_waiting());
    hz3_set(failed_at, (uint32_t)hz3_os_now_ms());
    hz3_set(failed, true);
}
