/* HZ3_S44_OWNER_STASH=0: there is no owner stash.  Every push is refused, and there is nothing to pop. */
#include "middle/owner_stash.h"
#include "base/layout.h"
#include "variants/central_magazines.h"
#include HZ3_COUNTERS_H
#include HZ3_PAGE_LOCAL_H

bool hz3_owner_stash_push_one(unsigned owner, unsigned cls, void *object)
{
    (void)owner, (void)cls, (void)object;
    return false;
}

bool hz3_owner_stash_push_list(unsigned owner, unsigned cls, void *head, void *tail, unsigned n)
{
    (void)owner, (void)cls, (void)head, (void)tail, (void)n;
    return false;
}

bool hz3_owner_stash_push(unsigned owner, unsigned cls, struct hz3_magazine *magazine)
{
    (void)owner, (void)cls, (void)magazine;
    return false;
}

unsigned hz3_owner_stash_pop_batch(unsigned owner, unsigned cls, void **out, unsigned want)
{
    (void)owner, (void)cls, (void)out, (void)want;
    return 0;
}

uint32_t hz3_owner_stash_count(unsigned owner, unsigned cls)
{
    (void)owner, (void)cls;
    return 0;
}

bool hz3_owner_stash_has_pending(unsigned owner, unsigned cls)
{
    (void)owner, (void)cls;
    return false;
}

void hz3_owner_stash_start(void) {}

void hz3_owner_stash_trim(unsigned cls, bool all)
{
    hz3_page_remote_collect_all(cls);
    hz3_central_trim(cls, all);
}

void hz3_owner_stash_flush_spill(struct hz3_outbox *outbox, const bool *used)
{
    (void)outbox, (void)used;
}

void hz3_owner_stash_each_lock(void (*visit)(struct hz3_lock *lock))
{
    hz3_central_each_magazines_lock(visit);
    hz3_counters_each_lock(visit);
}

void hz3_owner_stash_after_fork(void)
{
    hz3_counters_after_fork();
}

size_t hz3_owner_stash_objects(unsigned cls)
{
    size_t objects = hz3_page_remote_collect_all(cls); /* they were waiting until now */
    return objects + hz3_central_cached(cls);
}

size_t hz3_owner_stash_spilled(const struct hz3_outbox *outbox, unsigned cls)
{
    (void)outbox, (void)cls;
    return 0;
}

size_t hz3_owner_stash_waiting(void)
{
    return hz3_page_remote_waiting() + hz3_central_waiting();
}

const struct hz3_place hz3_stash_places[] = {HZ3_PLACES_END};
