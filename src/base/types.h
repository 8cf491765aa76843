/* Glossary, then the constants everybody shares.
 *
 *   granule      64 KiB of address space, 64 KiB aligned: what the map has an entry for
 *   window       a range of address space in which hz3 places granules; there is one, as long as the
 *                system lets us have it, and every range test is against it; further ones are far windows
 *   span         consecutive granules with one use: free, a run, or one large block
 *   size class   1 .. HZ3_CLASSES: objects of one size, up to 64 KiB
 *   run          a span cut into objects of one size class
 *   object       what malloc returns; its state is kept out of band, never in it
 *   magazine     a 256-byte block that holds up to 30 pointers to free objects of one class
 *   loaded, previous   the two magazines a thread holds per class (Bonwick & Adams, USENIX 2001)
 *   to claim     to take bytes of the budget that all threads' magazines share, by earning capacity
 *   to lend      to let others claim, while one sleeps, what one claimed and does not use
 *   heap         (the work orders' shard) what threads carve new objects from
 *   owner        the heap that carved an object's run last; advice, never correctness
 *   remote free  a free by a thread of another heap than the object's owner
 *   to adopt     to cache an object of another owner's; else it goes home: to its owner's stash
 *   bin          of the owner stash: what waits for one owner, in one class (and instance)
 *   to retire    to put an object back into its run's bitmap
 *   held run     a run that one heap (or the purger) carves from; listed runs belong to central
 *   dirty, clean a free span whose pages may hold data / are known to read as zero and cost no memory
 *   large cache  where freed large blocks wait whole for the next request of about their size
 *   to purge     to give the pages back to the system and keep the address range
 *   epoch        a quarter of the decay time, 10 ms at least: in each there is one reclaim pass */
#ifndef HZ3_BASE_TYPES_H
#define HZ3_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "compiler.h"
#include "hz3_flags.h"

enum {
    HZ3_GRANULE_SHIFT = 16,
    HZ3_GRANULE = 1 << HZ3_GRANULE_SHIFT,
    HZ3_UNIT_SHIFT = 4, /* every object starts on a multiple of 16 bytes */
    HZ3_UNIT = 1 << HZ3_UNIT_SHIFT,
    HZ3_SMALL_MAX = 64 * 1024,             /* largest size of a class */
    HZ3_LINEAR_CLASSES = HZ3_SMALL_NUM_SC, /* in steps of 16 bytes; after them 8 to each doubling */
    HZ3_CLASSES = HZ3_LINEAR_CLASSES + 8 * (12 - __builtin_ctz(HZ3_LINEAR_CLASSES)),
    HZ3_CLASS_NONE = 0,                 /* tag of a granule that holds no object */
    HZ3_CLASS_LARGE = HZ3_CLASSES + 1,  /* tag of a large block's first granule; the others have none */
    HZ3_CLASS_VALUES = HZ3_CLASSES + 2, /* classes and the two tags above, which never hold a magazine */
};

#define HZ3_KIB(n) ((size_t)(n) << 10)
#define HZ3_MIB(n) ((size_t)(n) << 20)

/* Each argument is evaluated once, in the type both convert to. */
#define HZ3_PICK(a, op, b) \
    (__extension__({ \
        __typeof__(1 ? (a) : (b)) a_ = (a), b_ = (b); \
        a_ op b_ ? a_ : b_; \
    }))
#define hz3_min(a, b) HZ3_PICK(a, <, b)
#define hz3_max(a, b) HZ3_PICK(a, >, b)

HZ3_INLINE size_t hz3_round_up(size_t n, size_t power_of_two)
{
    return (n + power_of_two - 1) & ~(power_of_two - 1);
}
#endif
