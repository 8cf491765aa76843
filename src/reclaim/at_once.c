#include "reclaim/at_once.h"

#include "back/gauges.h"
#include "back/large.h"
#include "back/limits.h"
#include "back/purge.h"
#include "back/rent.h"
#include "middle/central.h"
#include "middle/transfer_cache.h"
#include "os/os.h"
#include "reclaim/pass.h"

#define LEAST (HZ3_POLICY_LITTLE / 2) /* a pass costs as much as to give back so much, even if it finds nothing */

/* Hints: two threads at once, which there should not be, may lose a change. */
static HZ3_ATOMIC(uint32_t) looked; /* when the last look was (ms) */
static HZ3_ATOMIC(size_t) seen;     /* bytes that waited at the last look, */
static HZ3_ATOMIC(size_t) left;     /* and after the last pass; */
static HZ3_ATOMIC(size_t) resident; /* and what was resident then */
static size_t hollow; /* bytes that went back out of runs; when these are freed they count as dirty all the same */

/* Bytes of address space that hz3 has mapped: to have taken these pages cost as much as the credit is worth. */
static size_t mapped(void)
{
    return hz3_pages_resident() + hz3_gauge(HZ3_GAUGE_CLEAN) + hz3_gauge(HZ3_GAUGE_UNMAPPED);
}

/* Bytes of objects in runs that the program has, or that are cached. */
static size_t live(void)
{
    size_t bytes = 0;
    for (unsigned i = 0; i <= hz3_get(hz3_heap_highest); i++) bytes += hz3_get(hz3_heaps[i].live);
    return bytes;
}

/* A purge of runs looks at all of them, so while a program frees in any order there are to be few: each waits for half
 * as much as is still in use. */
static bool runs_are_idle(void)
{
    return hz3_gauge(HZ3_GAUGE_IDLE) >= hz3_max(live() / 2, hz3_pages_much() / 4);
}

/* Of the bytes that wait, those that a pass would give back now. */
static size_t ready(size_t waiting)
{
    return waiting - (runs_are_idle() ? 0 : hz3_gauge(HZ3_GAUGE_IDLE));
}

/* So many bytes are to wait, beyond those that the last pass left.  While the program frees the last of what it has,
 * that becomes less and less, since few objects keep many pages.  If it took pages since, that may be its next wave:
 * then it is as much as is worth a thread elsewhere. */
static size_t step(size_t waits)
{
    size_t now = hz3_pages_resident(), rise = now - hz3_min(now, hz3_get(resident)), much = hz3_pages_much();
    bool spans = hz3_gauge(HZ3_GAUGE_DIRTY) + hz3_gauge(HZ3_GAUGE_LARGE_CACHED) > waits / 2;
    size_t in_use = spans ? now - hz3_min(now, waits) : live();
    size_t part = hz3_max(hz3_min(mapped() / HZ3_POLICY_STEPS, in_use / 2), (size_t)HZ3_GRANULE);
    /* Objects that passes by age found in pages with others do not count as waiting: the last ones keep much more. */
    size_t small = hz3_gauge(HZ3_GAUGE_SMALL);
    if (small > much && live() < small / HZ3_POLICY_SHARE) rise = 0;
    return hz3_min(hz3_min(part, HZ3_POLICY_MUCH) + HZ3_POLICY_WORTH * hz3_min(rise, much), much);
}

static void give(void)
{
    hz3_reclaim_retire_all();
    /* Of free spans only whole huge pages go: each wave would break those at its ends.  But nobody else gives back
     * what lies beside the last of what the program has. */
    bool last = live() + hz3_get(hz3_large_bytes) < hz3_pages_resident() / HZ3_POLICY_WORTH;
    size_t idle = hz3_gauge(HZ3_GAUGE_IDLE), gaps = runs_are_idle() ? hz3_reclaim_purge_all_runs(true) : 0;
    hollow = hz3_max(hollow, gaps);
    size_t spans = hz3_reclaim_purge_all_spans(last), again = hz3_min(spans, hollow);
    hollow -= again;
    hz3_rent_charge(HZ3_RENT_AT_ONCE, hz3_max(hz3_min(gaps, idle) + spans - again, LEAST));
    size_t waits = hz3_reclaim_waiting();
    hz3_set(seen, waits);
    hz3_set(left, ready(waits));
    hz3_set(resident, hz3_pages_resident());
}

void hz3_reclaim_at_once(uint32_t now)
{
    uint32_t decay = hz3_get(hz3_pages_decay);
    if (decay > HZ3_POLICY_LATER_MS) return; /* a longer one asks for memory to be kept */
    /* What waited so long would have gone on any account. */
    if (now - hz3_exchange(looked, now, memory_order_relaxed) >= decay) hz3_rent_forgive(HZ3_RENT_AT_ONCE);
    hz3_transfer_settle(); /* else up to a MiB of this thread's would not count */
    size_t all = hz3_reclaim_waiting(), before = hz3_get(seen), waits = ready(all);
    hz3_set(seen, all);
    if (waits < hz3_get(left)) hz3_set(left, waits);
    if (all <= before || likely(waits < hz3_get(left) + HZ3_GRANULE)) return; /* nothing was freed, or little */
    if (waits < hz3_get(left) + step(waits)) return;
    /* Each page that hz3 has mapped may go back once at no charge.  What waits now is paid for afterwards. */
    if (hz3_rent_left(HZ3_RENT_AT_ONCE) < -(int64_t)mapped() || hz3_pages_refused()) return;
    if (!hz3_trylock(&hz3_reclaim_lock)) return;
    give();
    hz3_unlock(&hz3_reclaim_lock);
}
