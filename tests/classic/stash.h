/* Objects of one owner's, and its stash, for the tests of its verbs and of what waits there. */
#pragma once

#include "../unit/unit.h"
#include "../unit/take.h"

#include "back/policy.h"
#include "base/sizeclass.h"
#include "middle/owner_stash.h"

enum {
    OWNER = 3,
    OTHER = 5,
    FEW = 200,
    MANY = HZ3_S44_STASH_MAX_OBJS + 100,
    THREADS = 8,
    EACH = HZ3_POLICY_MUCH / 4 * 39 / 40 / (16 * HZ3_SMALL_NUM_SC), /* objects of a little less than 4 MiB */
    BURST = THREADS * EACH,
    MOST = MANY > BURST ? MANY : BURST,
};
static unsigned cls;
static void *objects[MOST];

static void take(unsigned n)
{
    take_in_order(OWNER, cls, objects, n);
}

static void push_linked(unsigned first, unsigned n)
{
    for (unsigned i = first; i + 1 < first + n; i++) *(void **)objects[i] = objects[i + 1];
    assert_true(hz3_owner_stash_push_list(OWNER, cls, objects[first], objects[first + n - 1], n));
}

static unsigned pop_all(void **out, unsigned room)
{
    unsigned got = 0;
    while (hz3_owner_stash_has_pending(OWNER, cls) || (hz3_outbox && hz3_owner_stash_spilled(hz3_outbox, cls)))
        got += hz3_owner_stash_pop_batch(OWNER, cls, out + got, hz3_min(7, room - got));
    return got;
}

static int start(void **state)
{
    (void)state;
    hz3_set(hz3_heap_highest, hz3_heap_count - 1); /* as if every heap had had threads */
    cls = hz3_class_of(64);
    return HZ3_STASH_PUSHES && HZ3_STASH_POPS ? 0 : -1;
}
