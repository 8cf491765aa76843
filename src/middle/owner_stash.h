/* The owner stash (work order S44): for each heap and class a bin, which is a stack of magazines.  Other threads push
 * there what they free of the heap's objects, and the heap's threads look there first when their magazines are empty.
 * It is never private: any thread that needs memory may take from any bin, and reclaim retires what lies too long.
 *
 * A bin holds at most HZ3_S44_STASH_MAX_OBJS objects; all bins of an owner hold at most 1/8 of its live bytes, or 1 MiB
 * if that is more.  A push beyond a bound is refused; the caller then uses the transfer cache.  Without
 * HZ3_S44_OWNER_STASH every push is refused, and there is nothing to pop (no_owner_stash.c). */
#pragma once

#include "middle/magazine.h"

void hz3_owner_stash_start(void);

/* Any thread may call these functions at any time.  owner: the number of a heap.
 *
 * Pushes a closed magazine, which then belongs to the stash.  False: refused, and nothing has changed. */
bool hz3_owner_stash_push(unsigned owner, unsigned cls, struct hz3_magazine *magazine);
/* The same for a chain of them, by one compare-and-swap. */
bool hz3_owner_stash_push_chain(unsigned owner, unsigned cls, struct hz3_stack_chain chain);
/* Each returns a closed magazine that is not empty, or NULL: the owner's; any owner's. */
struct hz3_magazine *hz3_owner_stash_pop(unsigned owner, unsigned cls);
/* Up to *magazines of the owner's, the others linked below the one that it returns.  *magazines: how many it took. */
struct hz3_magazine *hz3_owner_stash_pop_chain(unsigned owner, unsigned cls, uint32_t *magazines);
struct hz3_magazine *hz3_owner_stash_steal(unsigned cls);
/* Retires the objects of the class's bins that nobody touched since the last call, or of all its bins. */
void hz3_owner_stash_trim(unsigned cls, bool all);

/* The objects of a class, exact when nobody is inside: takes all magazines out, and puts them back. */
size_t hz3_owner_stash_objects(unsigned cls);
/* Bytes that wait for an owner; for all owners.  May be too low by 512 KiB for each owner. */
size_t hz3_owner_stash_in_flight(unsigned owner);
size_t hz3_owner_stash_waiting(void);

/* In the child of a fork: counts anew what waits, as another thread may have been about to count what it moved. */
void hz3_owner_stash_after_fork(void);
/* For fork.  These bins have no lock; lane classic's do. */
HZ3_INLINE void hz3_owner_stash_each_lock(void (*visit)(struct hz3_lock *lock))
{
    (void)visit;
}
