#include "back/limits.h"

#include "os/os.h"
#include "os/refusal.h"

enum {
    LOCKED_DIRTY_MAX = 256 << 10,
    BOUND_SHARE = 16, /* of what is in use */
};
#define BOUND_MIN HZ3_KIB(512)
/* To fault in so much takes about a hundredth of a decay time.  Less is much for a process that is smaller. */
#define UNDONE_MUCH HZ3_MIB(64)

HZ3_ATOMIC(uint32_t) hz3_pages_decay = 1000;
/* learnt: the bound that hz3_pages_retook arrived at.  given, undone: since `undone_since` (ms), bytes that went back
 * and may yet be taken again, and bytes that were.  Hints: two threads at once may lose a change. */
static HZ3_ATOMIC(size_t) learnt, given, undone;
static HZ3_ATOMIC(uint32_t) undone_since;

size_t hz3_pages_growth_bound(void)
{
    size_t share = hz3_max(hz3_gauge(HZ3_GAUGE_USED) / BOUND_SHARE, (size_t)BOUND_MIN);
    return hz3_min(hz3_max(share, hz3_get(learnt)), hz3_get(hz3_pages_dirty_max));
}

static void begin_again(uint32_t now, size_t bound)
{
    hz3_set(learnt, bound);
    hz3_set(given, 0);
    hz3_set(undone, 0);
    hz3_set(undone_since, now);
}

void hz3_pages_gave(size_t bytes)
{
    uint32_t now = (uint32_t)hz3_os_now_ms();
    if (hz3_ms_passed(hz3_get(undone_since), hz3_get(hz3_pages_decay), now)) begin_again(now, hz3_get(learnt) / 2);
    hz3_set(given, hz3_get(given) + bytes);
}

void hz3_pages_retook(size_t bytes)
{
    size_t again = hz3_min(bytes, hz3_get(given)), bound = hz3_pages_growth_bound();
    if (likely(!again)) return;
    hz3_set(given, hz3_get(given) - again);
    hz3_set(undone, hz3_get(undone) + again);
    size_t much = hz3_min(hz3_max(hz3_gauge(HZ3_GAUGE_USED), bound), UNDONE_MUCH);
    if (hz3_get(undone) >= much) begin_again((uint32_t)hz3_os_now_ms(), 2 * bound);
}

HZ3_ATOMIC(size_t) hz3_pages_dirty_max = SIZE_MAX;
HZ3_ATOMIC(bool) hz3_pages_elastic;
HZ3_ATOMIC(size_t) hz3_pages_soft_limit = SIZE_MAX, hz3_pages_charged_to_others;
HZ3_ATOMIC(bool) hz3_pages_attended;
HZ3_ATOMIC(bool) hz3_pages_are_locked;

bool hz3_pages_exceed_memory(size_t bytes)
{
    return !hz3_get(hz3_pages_are_locked) && hz3_os_exceeds_memory(bytes);
}

/* If there is no room for a page the number of mappings may be used up, and giving back may change that. */
bool hz3_pages_may_help(size_t bytes, size_t more)
{
    if (bytes <= more + hz3_gauge(HZ3_GAUGE_CLEAN) || hz3_get(hz3_pages_are_locked)) return true;
    return hz3_get(hz3_os.counts_mapped) && (hz3_os_has_room(bytes - more) || !hz3_os_has_room(hz3_os.page));
}

void hz3_pages_locked(void)
{
    hz3_set(hz3_pages_are_locked, true);
    if (hz3_get(hz3_pages_dirty_max) > LOCKED_DIRTY_MAX) hz3_set(hz3_pages_dirty_max, LOCKED_DIRTY_MAX);
}

const struct hz3_place hz3_limits_places[] = {
    HZ3_PLACE("decay_ms", hz3_pages_decay),
    HZ3_PLACE("retain", hz3_pages_dirty_max),
    HZ3_PLACE("soft_limit", hz3_pages_soft_limit),
    HZ3_PLACE("charged_to_others", hz3_pages_charged_to_others),
    HZ3_PLACE("attended", hz3_pages_attended),
    HZ3_PLACE("locked", hz3_pages_are_locked),
    HZ3_PLACE("broken", hz3_os_broken),
    HZ3_PLACES_END,
};
