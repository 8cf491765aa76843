/* The transfer cache (S42 of the work orders): per class a bounded stack of magazines that any thread
 * leaves and any thread takes, whole.  What a class did not need for an epoch goes on to central. */
#ifndef HZ3_MIDDLE_TRANSFER_CACHE_H
#define HZ3_MIDDLE_TRANSFER_CACHE_H

#include "base/layout.h"
#include "middle/magazine.h"

/* False: the class, or the whole cache, holds its share already; the caller keeps the magazine. */
bool hz3_transfer_push(unsigned cls, struct hz3_magazine *magazine);
/* The same whatever its share, as far as a stack goes: for threads that have nowhere else to put it. */
bool hz3_transfer_push_anyway(unsigned cls, struct hz3_magazine *magazine);
struct hz3_magazine *hz3_transfer_pop(unsigned cls); /* or NULL */
/* Retires what of the class lay untouched since the last call, or everything; returns its bytes, as if magazines were
 * full.  Leaves the counting to the recount. */
size_t hz3_transfer_trim(unsigned cls, bool all);

/* bytes: of objects, for one class, and 16 times that, or 16 MiB, for all; a class may hold a few magazines. */
void hz3_transfer_start(size_t bytes);
/* Bytes in it, a magazine as if it were full, give or take 1 MiB for each thread that has not settled. */
size_t hz3_transfer_waiting(void);
void hz3_transfer_settle(void);            /* for the thread's end */
void hz3_transfer_recount(void);           /* after trims: they are not counted, and what drifted is put right */
size_t hz3_transfer_objects(unsigned cls); /* in it now; exact when nobody is inside */
extern const struct hz3_place hz3_transfer_places[]; /* for readers outside: base/layout */
#endif
