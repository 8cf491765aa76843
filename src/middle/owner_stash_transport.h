/* What the two transports of the owner stash offer to owner_stash.c, and what that offers to them. */
#ifndef HZ3_MIDDLE_OWNER_STASH_TRANSPORT_H
#define HZ3_MIDDLE_OWNER_STASH_TRANSPORT_H

#include "middle/counters.h"
#include "middle/instances.h"
#include "middle/list.h"
#include "middle/magazine.h"
#include "middle/outbox.h"

static inline void *hz3_link_get(void *object)
{
    return *(void **)object;
}

static inline void hz3_link_set(void *object, void *next)
{
    *(void **)object = next;
}

union hz3_bin {
    struct hz3_stack magazines;
    struct hz3_list linked;
};

struct hz3_stash {
    HZ3_ATOMIC(size_t) in_flight; /* bytes in its bins, as far as they are booked */
    struct hz3_lock taker;        /* HZ3_STASH_ONE_TAKER: whoever takes from any of its bins */
    union hz3_bin bin[HZ3_INSTANCES_MAX][HZ3_BINS] HZ3_CACHE_ALIGNED;
} HZ3_CACHE_ALIGNED;

enum {
    /* A bounded drain, and a prefetch through a link, read links of objects that are not yet theirs. */
    HZ3_STASH_ONE_TAKER = HZ3_S44_OWNER_STASH && HZ3_S44_TRANSPORT_LIST &&
                          (!HZ3_S112_FULL_DRAIN_EXCHANGE || HZ3_S44_4_EARLY_PREFETCH_DIST > 1),
};

/* A bin's count went from `before` to `after` (magazines or objects): the owner's bytes follow, in steps. */
void hz3_stash_book(struct hz3_stash *stash, unsigned sc, uint32_t before, uint32_t after);

#define HZ3_TRANSPORT(name) \
    bool hz3_##name##_push_list(struct hz3_stash *stash, union hz3_bin *bin, unsigned sc, void *head, void *tail, \
                                unsigned n); \
    bool hz3_##name##_push_magazine(struct hz3_stash *stash, union hz3_bin *bin, unsigned sc, \
                                    struct hz3_magazine *magazine); \
    unsigned hz3_##name##_pop_batch(struct hz3_stash *stash, union hz3_bin *bin, unsigned sc, void **out, \
                                    unsigned want); \
    struct hz3_magazine *hz3_##name##_pop_magazine(struct hz3_stash *stash, union hz3_bin *bin, unsigned sc); \
    /* Retires all of the bin; objects. */ \
    size_t hz3_##name##_retire(struct hz3_stash *stash, union hz3_bin *bin, unsigned sc); \
    uint32_t hz3_##name##_count(union hz3_bin *bin, unsigned sc); \
    size_t hz3_##name##_objects(struct hz3_stash *stash, union hz3_bin *bin, unsigned sc); \
    void hz3_##name##_flush_spill(struct hz3_spill *spill, unsigned sc); \
    size_t hz3_##name##_spilled(const struct hz3_spill *spill)
HZ3_TRANSPORT(magazines);
HZ3_TRANSPORT(linked);
#undef HZ3_TRANSPORT
#endif
