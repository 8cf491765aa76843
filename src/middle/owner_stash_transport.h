/* The transport of the owner stash: how a bin holds what other threads left.  The build chooses one of two, which have
 * the same functions: whole magazines, or linked objects (HZ3_S44_TRANSPORT_LIST). */
#ifndef HZ3_MIDDLE_OWNER_STASH_TRANSPORT_H
#define HZ3_MIDDLE_OWNER_STASH_TRANSPORT_H

#include "middle/outbox.h"
#include "variants/instances.h"

static inline void *hz3_link_get(void *object)
{
    return *(void **)object;
}

static inline void hz3_link_set(void *object, void *next)
{
    *(void **)object = next;
}

#include HZ3_BIN_H

struct hz3_stash {
    HZ3_ATOMIC(size_t) in_flight; /* bytes in its bins that are booked */
    struct hz3_lock taker;        /* HZ3_STASH_ONE_TAKER: held by the thread that takes from any of its bins */
    struct hz3_bin bin[HZ3_INSTANCES_MAX][HZ3_CLASS_VALUES] HZ3_CACHE_ALIGNED;
} HZ3_CACHE_ALIGNED;

/* A bin's count of items went from `before` to `after`: books the difference, in steps, in in_flight. */
void hz3_stash_book(struct hz3_stash *stash, unsigned cls, uint32_t before, uint32_t after);

bool hz3_transport_push_list(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls, void *head, void *tail,
                             unsigned n);
bool hz3_transport_push_magazine(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls,
                                 struct hz3_magazine *magazine);
unsigned hz3_transport_pop_batch(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls, void **out, unsigned want);
struct hz3_magazine *hz3_transport_pop_magazine(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls);
size_t hz3_transport_retire(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls); /* all of it; objects */
uint32_t hz3_transport_count(struct hz3_bin *bin, unsigned cls);
size_t hz3_transport_objects(struct hz3_stash *stash, struct hz3_bin *bin, unsigned cls);
void hz3_transport_flush_spill(struct hz3_spill *spill, unsigned cls);
size_t hz3_transport_spilled(const struct hz3_spill *spill);
#endif
