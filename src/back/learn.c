#include "back/learn.h"

#include "back/arena.h"
#include "back/free_spans.h"
#include "back/huge_pages.h"
#include "back/states.h"
#include "os/cgroup.h"
#include "os/sandbox.h"

static bool soft_limit_by_group;
static HZ3_ATOMIC(bool) have_read;

void hz3_learn_start(size_t soft_limit)
{
    soft_limit_by_group = soft_limit == SIZE_MAX;
    hz3_set(hz3_pages_soft_limit, soft_limit ? soft_limit : SIZE_MAX);
    hz3_set(have_read, false);
}

void hz3_learn_locked(void)
{
    if (hz3_get(have_read) || hz3_sandboxed() || !hz3_os_learn()) return;
    hz3_set(have_read, true);
    hz3_huge_pages_learn();
    hz3_states_advise();
    hz3_arena_advise();
    size_t limit = soft_limit_by_group ? hz3_cgroup_limit(HZ3_CGROUP_MEMBERSHIP, HZ3_CGROUP_ROOT) : SIZE_MAX;
    if (limit != SIZE_MAX) hz3_set(hz3_pages_soft_limit, hz3_max(limit / 10 * 9, 1));
}

void hz3_learn(void)
{
    if (hz3_get(have_read) || !hz3_trylock(&hz3_pages_lock)) return;
    hz3_learn_locked();
    hz3_unlock(&hz3_pages_lock);
}
