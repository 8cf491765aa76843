/* A bin of the owner stash: a list of objects (variants/linked.c).  The same functions as middle/magazine_bin.h. */
#ifndef HZ3_VARIANTS_LINKED_BIN_H
#define HZ3_VARIANTS_LINKED_BIN_H

#include "variants/list.h"

struct hz3_bin {
    struct hz3_list list;
};
enum {
    /* A bounded drain, and a prefetch through a link, read links of objects that they have not taken yet. */
    HZ3_STASH_ONE_TAKER = !HZ3_S112_FULL_DRAIN_EXCHANGE || HZ3_S44_4_EARLY_PREFETCH_DIST > 1,
};

HZ3_INLINE uint64_t hz3_bin_head(struct hz3_bin *bin)
{
    return hz3_get(bin->list.head);
}

HZ3_INLINE bool hz3_bin_is_pending(struct hz3_bin *bin)
{
    return hz3_bin_head(bin);
}

/* The list is empty, but its count is not 0: a push may count its objects after others popped them. */
HZ3_INLINE bool hz3_bin_is_overtaken(struct hz3_bin *bin)
{
    return HZ3_S44_OWNER_STASH_COUNT && hz3_list_count(&bin->list);
}

/* Items are what a bin counts: here, objects. */
HZ3_INLINE unsigned hz3_bin_item(unsigned cls)
{
    (void)cls;
    return 1;
}

HZ3_INLINE unsigned hz3_bin_items_of_magazine(unsigned n)
{
    return n;
}

HZ3_INLINE size_t hz3_bin_step(unsigned cls, size_t bytes, size_t left)
{
    return hz3_max(1, left / (HZ3_CLASSES - cls + 1) / bytes);
}
#endif
