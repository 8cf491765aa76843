#include "back/rent.h"

#include "back/pace.h"
#include "back/policy.h"
#include "os/os.h"
#include "os/price.h"
#include "os/sandbox.h"

enum {
    LOOK_MS = 4,     /* so often the processor time is asked for, which takes a system call, */
    SHARE = 1000,    /* of the time, or less often: the system adds up all threads.  But not */
    SELDOM_MS = 100, /* less often than this, since little is saved */
};
#define SAVED_NS 1000000000u /* what is left of so much processor time is kept */

HZ3_ATOMIC(uint32_t) hz3_rent_share = 1;
/* Hints: two threads at once may lose a change. */
static HZ3_ATOMIC(int64_t) left[HZ3_RENTS] = {[HZ3_RENT_GROWTH] = -(int64_t)HZ3_POLICY_START};
static HZ3_ATOMIC(size_t) given;    /* bytes that may yet be taken again */
static HZ3_ATOMIC(uint32_t) looked; /* ms */
static struct hz3_pace pace;
static HZ3_ATOMIC(uint64_t) counted; /* ns of processor time */

static int64_t worth_of(uint64_t ns)
{
    return (int64_t)(ns / 100 * hz3_get(hz3_rent_share) / hz3_os_page_price() * hz3_os.page);
}

static void earn(void)
{
    uint32_t now = (uint32_t)hz3_os_now_ms(), wait = hz3_pace_ms(&pace, SHARE, LOOK_MS, SELDOM_MS);
    if (likely(!hz3_ms_passed(hz3_get(looked), wait, now)) || hz3_sandboxed()) return;
    hz3_set(looked, now);
    uint64_t began = hz3_os_now_ns(), used = hz3_os_used_ns();
    hz3_pace_took(&pace, hz3_os_now_ns() - began);
    uint64_t before = hz3_exchange(counted, used, memory_order_relaxed);
    if (used <= before) return; /* the child of a fork, which begins with none; or the system refused */
    for (int i = 0; i < HZ3_RENTS; i++)
        hz3_set(left[i], hz3_min(hz3_get(left[i]) + worth_of(used - before), worth_of(SAVED_NS)));
}

int64_t hz3_rent_left(enum hz3_rent reason)
{
    earn();
    return hz3_get(left[reason]);
}

void hz3_rent_charge(enum hz3_rent reason, size_t bytes)
{
    earn();
    hz3_set(left[reason], hz3_get(left[reason]) - (int64_t)bytes);
}

void hz3_rent_forgive(enum hz3_rent reason)
{
    if (hz3_get(left[reason]) < 0) hz3_set(left[reason], 0);
}

void hz3_rent_purged(size_t bytes)
{
    if (bytes) hz3_add(given, bytes);
}

void hz3_rent_refaulted(size_t bytes)
{
    size_t before = hz3_get(given), again = hz3_min(bytes, before);
    if (likely(!again)) return;
    hz3_set(given, before - again);
    hz3_rent_charge(HZ3_RENT_GROWTH, again);
}
