/* How a shard's bins hold objects, and how they are drained: free objects linked through their first word.  A pop walks
 * the links, with a cache miss for each; the flags HZ3_S44_4_* are about that. */
#pragma once

#include "middle/outbox.h"
#include "variants/instances.h"
#include HZ3_COUNTERS_H

static inline void *hz3_link_get(void *object)
{
    return *(void **)object;
}

static inline void hz3_link_set(void *object, void *next)
{
    *(void **)object = next;
}

#include "variants/list.h"

enum {
    /* A bounded drain, and a prefetch through a link, read links of objects that they have not taken yet. */
    HZ3_STASH_ONE_TAKER = !HZ3_S112_FULL_DRAIN_EXCHANGE || HZ3_S44_4_EARLY_PREFETCH_DIST > 1,
};

struct hz3_stash {
    struct hz3_lock taker; /* HZ3_STASH_ONE_TAKER: held by the thread that takes from any of its bins */
    struct hz3_list bin[HZ3_INSTANCES_MAX][HZ3_STASH_CLASSES] HZ3_CACHE_ALIGNED;
} HZ3_CACHE_ALIGNED;

/* The thread's spill first; then `list`, one of the bins of `stash`. */
unsigned hz3_linked_pop(struct hz3_stash *stash, struct hz3_list *list, unsigned cls, void **out, unsigned want);
size_t hz3_linked_retire(struct hz3_stash *stash, struct hz3_list *list, unsigned cls); /* all of it; objects */
/* Counts the objects of a bin: takes them out, and puts them back. */
size_t hz3_linked_objects(struct hz3_stash *stash, struct hz3_list *list, unsigned cls);
size_t hz3_linked_flush_spill(struct hz3_spill *spill, unsigned cls); /* retires it; objects */
