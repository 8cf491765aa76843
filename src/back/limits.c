#include "back/limits.h"

#include "back/rent.h"
#include "base/layout.h"
#include "os/os.h"
#include "os/refusal.h"

enum { OWED_UNIT = 4096 };
#define BOUND_MIN (2 * HZ3_POLICY_LITTLE)
#define OWED_MUCH (4 * HZ3_POLICY_MUCH) /* to owe as much as is in use, or this, allows as much again to be kept */

HZ3_ATOMIC(uint32_t) hz3_pages_decay = 1000;
HZ3_ATOMIC(size_t) hz3_pages_dirty_max = SIZE_MAX;

/* Bytes that may stay because giving them back would cost more than it may: by the square of what is owed, so that a
 * fault now and then changes little. */
static size_t unpaid(size_t used)
{
    int64_t left = hz3_rent_left(HZ3_RENT_GROWTH);
    size_t owed = left < 0 ? (size_t)-left / OWED_UNIT : 0;
    return owed * owed / (hz3_min(used, OWED_MUCH) / OWED_UNIT) * OWED_UNIT;
}

static size_t in_use(void)
{
    return hz3_max(hz3_gauge(HZ3_GAUGE_USED), BOUND_MIN * HZ3_POLICY_SHARE);
}

size_t hz3_pages_growth_bound(size_t free)
{
    size_t used = in_use(), share = used / HZ3_POLICY_SHARE;
    return hz3_min(share + (free > share ? unpaid(used) : 0), hz3_get(hz3_pages_dirty_max));
}

size_t hz3_pages_retained(size_t free)
{
    size_t most = hz3_get(hz3_pages_dirty_max);
    return most + (free > most && hz3_get(hz3_pages_retain_learns) && !hz3_pages_near_limit() ? unpaid(in_use()) : 0);
}

HZ3_ATOMIC(bool) hz3_pages_retain_learns, hz3_pages_adaptive;
HZ3_ATOMIC(size_t) hz3_pages_soft_limit = SIZE_MAX, hz3_pages_charged_to_others;
HZ3_ATOMIC(bool) hz3_pages_purger_runs;
HZ3_ATOMIC(bool) hz3_pages_are_locked;

bool hz3_pages_exceed_memory(size_t bytes)
{
    return !hz3_get(hz3_pages_are_locked) && hz3_os_exceeds_memory(bytes);
}

bool hz3_pages_have_room(size_t bytes)
{
    return hz3_get(hz3_pages_are_locked) || hz3_os_has_room(bytes);
}

/* If there is no room for a page the number of mappings may be used up, and giving back may change that. */
bool hz3_pages_may_help(size_t bytes, size_t more)
{
    if (bytes <= more || hz3_pages_have_room(bytes - more)) return true;
    return hz3_get(hz3_os.counts_mapped) && !hz3_os_has_room(hz3_os.page);
}

void hz3_pages_locked(void)
{
    hz3_set(hz3_pages_are_locked, true);
    hz3_set(hz3_pages_retain_learns, false);
    if (hz3_get(hz3_pages_dirty_max) > HZ3_POLICY_LITTLE) hz3_set(hz3_pages_dirty_max, HZ3_POLICY_LITTLE);
}

const struct hz3_place hz3_limits_places[] = {
    HZ3_PLACE("decay_ms", hz3_pages_decay),
    HZ3_PLACE("retain", hz3_pages_dirty_max),
    HZ3_PLACE("soft_limit", hz3_pages_soft_limit),
    HZ3_PLACE("charged_to_others", hz3_pages_charged_to_others),
    HZ3_PLACE("attended", hz3_pages_purger_runs),
    HZ3_PLACE("locked", hz3_pages_are_locked),
    HZ3_PLACE("broken", hz3_os_broken),
    HZ3_PLACES_END,
};
