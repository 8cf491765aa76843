/* In the place of owner_stash.c (lane fast): every push is refused. */
#include "middle/owner_stash.h"

#include "base/layout.h"

void hz3_owner_stash_start(void) {}

bool hz3_owner_stash_push(unsigned owner, unsigned cls, struct hz3_magazine *magazine)
{
    (void)owner, (void)cls, (void)magazine;
    return false;
}

bool hz3_owner_stash_push_chain(unsigned owner, unsigned cls, struct hz3_stack_chain chain)
{
    (void)owner, (void)cls, (void)chain;
    return false;
}

struct hz3_magazine *hz3_owner_stash_pop_chain(unsigned owner, unsigned cls, uint32_t *magazines)
{
    (void)owner, (void)cls, (void)magazines;
    return NULL;
}

struct hz3_magazine *hz3_owner_stash_pop(unsigned owner, unsigned cls)
{
    (void)owner, (void)cls;
    return NULL;
}

struct hz3_magazine *hz3_owner_stash_steal(unsigned cls)
{
    (void)cls;
    return NULL;
}

void hz3_owner_stash_trim(unsigned cls, bool all)
{
    (void)cls, (void)all;
}

size_t hz3_owner_stash_objects(unsigned cls)
{
    (void)cls;
    return 0;
}

size_t hz3_owner_stash_in_flight(unsigned owner)
{
    (void)owner;
    return 0;
}

size_t hz3_owner_stash_waiting(void)
{
    return 0;
}

void hz3_owner_stash_after_fork(void) {}

const struct hz3_place hz3_stash_places[] = {HZ3_PLACES_END};
