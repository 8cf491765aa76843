/* A list of free objects, linked through their first word, with many pushers.
 *
 *      | objects in it: 20 bits | address of the first object >> 4: 44 bits |
 *
 * The count is exact, since it changes with the head.  With HZ3_S44_OWNER_STASH_COUNT it is in a word of its own
 * instead, which follows the head and is approximate.  Objects leave by an exchange of the whole list, or some of them
 * by one taker at a time, which the caller ensures: if many popped at once, one might read the link of an object that
 * is in use again.  The including file says before where a link is, by hz3_link_get and hz3_link_set. */
#pragma once

#include "base/types.h"

struct hz3_list {
    HZ3_ATOMIC(uint64_t) head;
    HZ3_ATOMIC(uint32_t) count[HZ3_S44_OWNER_STASH_COUNT];
};

enum { HZ3_LIST_ADDRESS_BITS = 48 - HZ3_UNIT_SHIFT, HZ3_LIST_MAX = (1 << (64 - HZ3_LIST_ADDRESS_BITS)) - 1 };

HZ3_INLINE void *hz3_list_first(uint64_t head)
{
    return (void *)(uintptr_t)((head & (((uint64_t)1 << HZ3_LIST_ADDRESS_BITS) - 1)) << HZ3_UNIT_SHIFT);
}

HZ3_INLINE unsigned hz3_list_packed_count(uint64_t head)
{
    return (unsigned)(head >> HZ3_LIST_ADDRESS_BITS);
}

HZ3_INLINE uint64_t hz3_list_word(const void *first, unsigned count)
{
    return (uintptr_t)first >> HZ3_UNIT_SHIFT |
           (HZ3_S44_OWNER_STASH_COUNT ? 0 : (uint64_t)count << HZ3_LIST_ADDRESS_BITS);
}

/* A count of its own is below 0 where a bounded drain took objects that their push has yet to count. */
HZ3_INLINE unsigned hz3_list_count(struct hz3_list *list)
{
    if (HZ3_S44_OWNER_STASH_COUNT) return (unsigned)hz3_max((int32_t)hz3_get(list->count[0]), 0);
    return hz3_list_packed_count(hz3_get(list->head));
}

/* Puts n objects, linked from first to last, in front, unless there would be more than max.  Returns the count before,
 * or -1: no room.  *retries: how many compare-and-swaps failed. */
HZ3_INLINE int64_t hz3_list_push(struct hz3_list *list, void *first, void *last, unsigned n, unsigned max,
                                 unsigned *retries)
{
    uint64_t old = hz3_get(list->head);
    *retries = 0;
    /* The count of an empty list may be wrong, because a drain overtook a push; no later drain would put it right. */
    int32_t counted = HZ3_S44_OWNER_STASH_COUNT && old ? (int32_t)hz3_get(list->count[0]) : 0;
    if (counted + (int32_t)n > (int32_t)max) return -1;
    for (;; ++*retries) {
        unsigned count = hz3_list_packed_count(old);
        if (!HZ3_S44_OWNER_STASH_COUNT && count + n > max) return -1;
        hz3_link_set(last, hz3_list_first(old));
        /* Release: a thread that takes the objects sees the links, and all that was done to the objects. */
        if (hz3_cas_weak(list->head, &old, hz3_list_word(first, count + n), memory_order_release, memory_order_relaxed))
            return HZ3_S44_OWNER_STASH_COUNT ? hz3_add(list->count[0], n) : count;
    }
}

/* Takes all: the first object or NULL.  *count: the count before; it may count objects that an earlier caller took. */
HZ3_INLINE void *hz3_list_take_all(struct hz3_list *list, uint32_t *count)
{
    uint64_t old = hz3_exchange(list->head, 0, memory_order_acquire);
    if (!HZ3_S44_OWNER_STASH_COUNT)
        *count = hz3_list_packed_count(old);
    else
        *count = hz3_exchange(list->count[0], 0, memory_order_relaxed);
    return hz3_list_first(old);
}

/* Puts back n linked objects if the list is still empty. */
HZ3_INLINE bool hz3_list_restore(struct hz3_list *list, void *first, unsigned n)
{
    uint64_t empty = 0;
    if (!hz3_cas(list->head, &empty, hz3_list_word(first, n), memory_order_release, memory_order_relaxed)) return false;
    if (HZ3_S44_OWNER_STASH_COUNT) hz3_add(list->count[0], n);
    return true;
}
