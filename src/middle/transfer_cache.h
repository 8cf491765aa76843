/* The transfer cache (work order S42): for each class a bounded stack of magazines that any thread
 * leaves and any thread takes, whole.  Magazines that a class did not need for an epoch go on to central. */
#ifndef HZ3_MIDDLE_TRANSFER_CACHE_H
#define HZ3_MIDDLE_TRANSFER_CACHE_H

#include "base/layout.h"
#include "middle/magazine.h"

/* False: the class, or the whole cache, holds its share already; the caller keeps the magazine. */
bool hz3_transfer_push(unsigned cls, struct hz3_magazine *magazine);
/* The same beyond its share, as far as a stack can count: for threads that have nowhere else to put the magazine. */
bool hz3_transfer_push_anyway(unsigned cls, struct hz3_magazine *magazine);
struct hz3_magazine *hz3_transfer_pop(unsigned cls); /* or NULL */
/* Retires the magazines that the class did not need since the last call, or all; returns their bytes, counted as full.
 * Does not change hz3_transfer_waiting: call hz3_transfer_recount afterwards. */
size_t hz3_transfer_trim(unsigned cls, bool all);

/* bytes: the bound for each class, but a few magazines at least; 16 times that, but 16 MiB at least, for all. */
void hz3_transfer_start(size_t bytes);
/* Bytes in the cache, magazines counted as full; it may be wrong by 1 MiB for each thread that has not settled. */
size_t hz3_transfer_waiting(void);
void hz3_transfer_settle(void);            /* for the thread's end */
void hz3_transfer_recount(void);           /* counts anew: after trims, and for what threads never settled */
size_t hz3_transfer_objects(unsigned cls); /* in it now; exact when nobody is inside */
extern const struct hz3_place hz3_transfer_places[]; /* for readers outside: base/layout */
#endif
