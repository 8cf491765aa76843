/* The transfer cache (work order S42): for each class a bounded stack of magazines that any thread pushes and any
 * thread pops.  A pass of reclaim retires the magazines that a class did not need.  Takes no lock, except in trims. */
#pragma once

#include "middle/magazine.h"

/* Pushes a chain of closed magazines, by one compare-and-swap.  False: the class, or the whole cache, is at its bound;
 * the caller keeps them. */
bool hz3_transfer_push_chain(unsigned cls, struct hz3_stack_chain chain);
HZ3_INLINE bool hz3_transfer_push(unsigned cls, const struct hz3_magazine *magazine)
{
    return hz3_transfer_push_chain(cls, hz3_magazine_alone(magazine));
}
/* Pushes beyond the bound, as far as a stack can count: for threads that have no other place for the magazine. */
bool hz3_transfer_push_anyway(unsigned cls, struct hz3_magazine *magazine);
/* Takes up to *magazines, the others linked below the one that it returns; or NULL.  *magazines: how many it took. */
struct hz3_magazine *hz3_transfer_pop_chain(unsigned cls, uint32_t *magazines);
HZ3_INLINE struct hz3_magazine *hz3_transfer_pop(unsigned cls)
{
    uint32_t one = 1;
    return hz3_transfer_pop_chain(cls, &one);
}
/* Retires the objects of the magazines that the class did not need since the last call, or of all; returns their bytes,
 * each magazine counted as full.  hz3_transfer_waiting does not change: call hz3_transfer_recount after the last trim.
 */
size_t hz3_transfer_trim(unsigned cls, bool all);

/* Sets the bounds.  bytes: of each class, at least a few magazines; all classes together: 16 times that, at least 16
 * MiB. */
void hz3_transfer_start(size_t bytes);
/* Bytes in the cache, each magazine counted as full.  Off by at most 1 MiB for each thread that has not settled. */
size_t hz3_transfer_waiting(void);
void hz3_transfer_settle(void);            /* adds this thread's unsettled bytes; for its end, too */
void hz3_transfer_recount(void);           /* counts all magazines anew: after trims */
size_t hz3_transfer_objects(unsigned cls); /* exact when nobody is inside */
/* How many objects a stack of closed magazines holds.  How full one is can only be read after it was taken: takes all
 * out, and puts back what there is room for; the rest it takes apart. */
size_t hz3_transfer_count(unsigned cls, struct hz3_stack *stack);
