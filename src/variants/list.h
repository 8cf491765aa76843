/* A list of free objects, linked through their first word, with many pushers.
 *
 *      | objects in it: 20 bits | address of the first object >> 4: 44 bits |
 *
 * The count is exact, since it changes with the head.  With HZ3_S44_OWNER_STASH_COUNT it stands in a word of its own
 * instead, which follows the head and is approximate.  Objects leave by an exchange of the whole list, or, bounded, by
 * one taker at a time (the caller sees to that): single pops by many would read the link of an object that is
 * somebody's again.  Who includes this says where a link is: hz3_link_get, hz3_link_set. */
#ifndef HZ3_VARIANTS_LIST_H
#define HZ3_VARIANTS_LIST_H

#include "base/types.h"

struct hz3_list {
    HZ3_ATOMIC(uint64_t) head;
    HZ3_ATOMIC(uint32_t) count[HZ3_S44_OWNER_STASH_COUNT];
};

enum { HZ3_LIST_ADDRESS_BITS = 48 - HZ3_UNIT_SHIFT, HZ3_LIST_MAX = (1 << (64 - HZ3_LIST_ADDRESS_BITS)) - 1 };

static inline void *hz3_link_get(void *object);
static inline void hz3_link_set(void *object, void *next);

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

HZ3_INLINE unsigned hz3_list_count(struct hz3_list *list)
{
    if (HZ3_S44_OWNER_STASH_COUNT) return hz3_get(list->count[0]);
    return hz3_list_packed_count(hz3_get(list->head));
}

/* Puts first .. last, n objects linked already, in front, unless there would be more than max; *retries: compare-and-
 * swaps that failed.  Returns the count before, or -1: no room. */
HZ3_INLINE int64_t hz3_list_push(struct hz3_list *list, void *first, void *last, unsigned n, unsigned max,
                                 unsigned *retries)
{
    uint64_t old = hz3_get(list->head);
    *retries = 0;
    /* Of an empty list the count may be what a drain overtook, and no other would come to put it right. */
    int32_t counted = HZ3_S44_OWNER_STASH_COUNT && old ? (int32_t)hz3_get(list->count[0]) : 0;
    if (counted + (int32_t)n > (int32_t)max) return -1;
    for (;; ++*retries) {
        unsigned count = hz3_list_packed_count(old);
        if (!HZ3_S44_OWNER_STASH_COUNT && count + n > max) return -1;
        hz3_link_set(last, hz3_list_first(old));
        /* Release: who takes them sees the links, and all that was done to the objects. */
        if (hz3_cas_weak(list->head, &old, hz3_list_word(first, count + n), memory_order_release, memory_order_relaxed))
            return HZ3_S44_OWNER_STASH_COUNT ? hz3_add(list->count[0], n) : count;
    }
}

/* All of it: the first object or NULL, and the count before, which may be of objects that an earlier caller took. */
HZ3_INLINE void *hz3_list_take_all(struct hz3_list *list, uint32_t *count)
{
    uint64_t old = hz3_exchange(list->head, 0, memory_order_acquire);
    if (!HZ3_S44_OWNER_STASH_COUNT)
        *count = hz3_list_packed_count(old);
    else
        *count = hz3_exchange(list->count[0], 0, memory_order_relaxed);
    return hz3_list_first(old);
}

/* Puts back n linked objects where nothing came meanwhile; *count: the count before. */
HZ3_INLINE bool hz3_list_restore(struct hz3_list *list, void *first, unsigned n, uint32_t *count)
{
    uint64_t empty = 0;
    if (!hz3_cas(list->head, &empty, hz3_list_word(first, n), memory_order_release, memory_order_relaxed)) return false;
    *count = HZ3_S44_OWNER_STASH_COUNT ? hz3_add(list->count[0], n) : 0;
    return true;
}
#endif
