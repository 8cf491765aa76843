/* A bin of the owner stash: a stack of magazines. */
#ifndef HZ3_MIDDLE_MAGAZINE_BIN_H
#define HZ3_MIDDLE_MAGAZINE_BIN_H

#include "base/sizeclass.h"
#include "middle/magazine.h"

struct hz3_bin {
    struct hz3_stack stack;
};
enum { HZ3_STASH_ONE_TAKER = 0 };

HZ3_INLINE uint64_t hz3_bin_head(struct hz3_bin *bin)
{
    return hz3_get(bin->stack.head);
}

HZ3_INLINE bool hz3_bin_is_pending(struct hz3_bin *bin)
{
    return hz3_bin_head(bin) & HZ3_STACK_NUMBER_MASK;
}

HZ3_INLINE bool hz3_bin_is_overtaken(struct hz3_bin *bin)
{
    (void)bin;
    return false;
}

/* Items are what a bin counts: here, full magazines.  How many objects an item has. */
HZ3_INLINE unsigned hz3_bin_item(unsigned cls)
{
    return hz3_class_info[cls].load;
}

/* As how many items a magazine of n objects counts. */
HZ3_INLINE unsigned hz3_bin_items_of_magazine(unsigned n)
{
    (void)n;
    return 1;
}

/* How many items are booked at a time, if this class and those above may leave `left` bytes unbooked.  bytes: an item's
 * size. */
HZ3_INLINE size_t hz3_bin_step(unsigned cls, size_t bytes, size_t left)
{
    (void)cls;
    return 1 + (bytes <= left);
}
#endif
