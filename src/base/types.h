/* Glossary, then the constants everybody shares.
 *
 *   unit         16 bytes; every object starts on a multiple of it
 *   granule      64 KiB of address space, 64 KiB aligned; the map has an entry for each
 *   window       a range of address space in which hz3 places granules.  The fast paths know the first
 *                window only; it is the only one unless it is used up.  Further ones are far windows
 *   span         consecutive granules with one use: free, a run, or one large block
 *   class, cls   a size class, 1 .. HZ3_CLASSES: objects of one size, up to 64 KiB
 *   run          a span cut into objects of one class
 *   object       what malloc returns, up to 64 KiB; hz3 keeps its state elsewhere, never in it
 *   large block  what malloc returns above that
 *   magazine     256 bytes that hold up to 30 pointers to free objects of one class
 *   loaded, previous   the two magazines a thread holds for each class (Bonwick & Adams, USENIX 2001)
 *   cache        a thread's magazines and their budget
 *   spare        an empty magazine that a thread keeps
 *   to claim     to take bytes of the budget that all caches share; a class claims as it earns capacity
 *   to lend      to let other threads claim, while this one sleeps, what it claimed and does not use
 *   heap         what threads carve new objects from (the work orders' shard).  There are several: the word
 *                never means all of hz3's memory, but in "heap profile", nor what programs call one: see zone
 *   zone         what programs know as hz3_heap_t: objects in runs of its own, which go back together
 *   owner        the heap that carved from an object's run last; advice, never needed for correctness
 *   remote free  a free by a thread of another heap than the object's owner
 *   to adopt     to cache an object of another owner
 *   to send home to give an object back to its owner, through the owner stash
 *   bin          a part of the owner stash: what waits for one owner in one class (and instance)
 *   outbox       what a thread holds beside its cache: objects on their way home, above all
 *   to retire    to put an object back into its run, by setting its bit in the run's bitmap
 *   held run     a run from which one heap (or the purger) takes objects; the others belong to central
 *   dirty        a free span whose pages may hold data
 *   clean        a free span whose pages read as zero and cost no memory
 *   large cache  where freed large blocks wait, whole, for the next request of about their size
 *   to purge     to give pages back to the system and keep their addresses
 *   credit       bytes that may go back at once, in a program with one thread (reclaim/at_once)
 *   pass         one round of reclaim through all that may go back
 *   epoch        a quarter of the decay time, 10 ms at least; there is one pass in each */
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
    HZ3_CLASS_NONE = 0,                 /* in the tag of a granule that holds no object */
    HZ3_CLASS_LARGE = HZ3_CLASSES + 1,  /* in the tag of a large block's first granule; its others have NONE */
    HZ3_CLASS_VALUES = HZ3_CLASSES + 2, /* the classes and these two, which never have a magazine */
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
