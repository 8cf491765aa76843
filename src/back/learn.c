#include "back/learn.h"

#include "back/arena.h"
#include "back/free_spans.h"
#include "back/huge_pages.h"
#include "back/limits.h"
#include "back/pace.h"
#include "back/states.h"
#include "os/cgroup.h"
#include "os/sandbox.h"

enum {
    AGAIN_MS = 250, /* to read a group's memory.stat takes about 15 us, */
    SHARE = 100,    /* of the time, or less often: where there are many groups it may take ms */
    SELDOM_MS = 1000,
    AT_LAST_MS = 10000,
};

/* Held while files are read, which takes long.  So nobody waits for it but who sets the option. */
struct hz3_lock hz3_learn_lock;
static HZ3_ATOMIC(bool) soft_limit_by_group, have_read, limited_by_group;
static HZ3_ATOMIC(bool) asked;       /* whether huge pages are made, before have_read */
static HZ3_ATOMIC(uint32_t) read_at; /* ms: when the group's charge was */
static struct hz3_pace pace;
/* The soft limit by the group, and what it is charged for beside hz3's pages, as far as is known; under the lock.  A
 * program may set another limit meanwhile, and when it takes that back may have no right to read files. */
static size_t group_limit = SIZE_MAX, group_charge;

void hz3_learn_start(size_t soft_limit)
{
    bool by_group = soft_limit == SIZE_MAX;
    hz3_lock(&hz3_learn_lock);
    if (by_group) soft_limit = group_limit;
    hz3_set(soft_limit_by_group, by_group);
    hz3_set(hz3_pages_soft_limit, soft_limit ? soft_limit : SIZE_MAX);
    hz3_set(hz3_pages_charged_to_others, by_group ? group_charge : 0);
    hz3_set(have_read, false);
    hz3_set(limited_by_group, by_group && group_limit != SIZE_MAX);
    hz3_unlock(&hz3_learn_lock);
}

/* What hz3 holds it knows itself, from one moment to the next.  What the rest of the group holds changes less often. */
static void read_charge(void)
{
    size_t before = hz3_pages_resident_described(), charged = hz3_cgroup_charged();
    if (charged == HZ3_CGROUP_UNKNOWN) return;
    size_t ours = hz3_max(before, hz3_pages_resident_described());
    group_charge = charged - hz3_min(ours, charged);
    hz3_set(hz3_pages_charged_to_others, group_charge);
}

static bool read_group(void)
{
    size_t limit = hz3_cgroup_limit(HZ3_CGROUP_MEMBERSHIP, HZ3_CGROUP_ROOT), none = SIZE_MAX;
    if (limit == HZ3_CGROUP_UNKNOWN) return false;
    group_limit = limit != none ? hz3_max(limit / 10 * 9, 1) : none;
    hz3_set(limited_by_group, limit != none);
    hz3_set(hz3_pages_soft_limit, group_limit);
    return true;
}

void hz3_learn_again(uint32_t now)
{
    if (likely(!hz3_get(limited_by_group))) return;
    bool little = hz3_pages_resident() < hz3_get(hz3_pages_soft_limit) / HZ3_POLICY_LIMIT_SHARE;
    uint32_t wait = hz3_pace_ms(&pace, SHARE, little ? SELDOM_MS : AGAIN_MS, AT_LAST_MS);
    if (!hz3_ms_passed(hz3_get(read_at), wait, now) || hz3_sandboxed()) return;
    if (!hz3_trylock(&hz3_learn_lock)) return;
    hz3_set(read_at, now);
    uint64_t began = hz3_os_now_ns();
    if (hz3_get(limited_by_group) && hz3_cgroup_limit_changed()) read_group();
    if (hz3_get(limited_by_group)) read_charge();
    hz3_pace_took(&pace, hz3_os_now_ns() - began);
    hz3_unlock(&hz3_learn_lock);
}

static void read_huge_pages(void)
{
    hz3_os_learn_huge_pages(hz3_huge_pages);
    hz3_states_advise();
    hz3_arena_advise();
}

static void read_all(void)
{
    if (hz3_get(have_read) || !hz3_os_learn() || (hz3_get(soft_limit_by_group) && !read_group())) return;
    hz3_set(have_read, true);
    read_huge_pages();
    if (hz3_get(limited_by_group)) read_charge();
}

void hz3_learn_locked(bool all)
{
    if (hz3_get(have_read) || hz3_sandboxed() || !hz3_trylock(&hz3_learn_lock)) return;
    if (all)
        read_all();
    else if (!hz3_exchange(asked, true, memory_order_relaxed) && hz3_os_makes_huge_pages())
        read_huge_pages();
    hz3_unlock(&hz3_learn_lock);
}

void hz3_learn_now(void)
{
    if (hz3_sandboxed()) return;
    hz3_lock(&hz3_pages_lock);
    hz3_lock(&hz3_learn_lock);
    read_all();
    hz3_unlock(&hz3_learn_lock);
    hz3_unlock(&hz3_pages_lock);
}

bool hz3_learn(void)
{
    if (hz3_get(have_read)) return true;
    if (!hz3_trylock(&hz3_pages_lock)) return false;
    hz3_learn_locked(true);
    hz3_unlock(&hz3_pages_lock);
    return true;
}
