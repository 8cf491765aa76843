/* Glossary, then the constants everybody shares.
 *
 *   unit         16 bytes; every object starts on a multiple of it
 *   granule      64 KiB of address space, 64 KiB aligned; the map has an entry for each
 *   window       an address range in which hz3 places granules, with its tables.  The fast paths know the first
 *                window only.  Further ones, far windows, are opened when it is used up
 *   span         consecutive granules with one use: free, a run, or one large block
 *   class, cls   a size class, 1 .. HZ3_CLASSES: objects of one size, up to 64 KiB
 *   run          a span cut into objects of one class (slab, superblock)
 *   object       what malloc returns, up to 64 KiB; hz3 keeps its state elsewhere, never in it
 *   large block  what malloc returns above that
 *   magazine     256 bytes that hold up to 30 pointers to free objects of one class
 *   loaded, previous   the two magazines a thread holds for each class (Bonwick & Adams, USENIX 2001)
 *   stored       full magazines behind the previous one, in a chain, that a class which exchanges often has earned
 *   cache        a thread's magazines and their budget (thread cache)
 *   spare        an empty magazine that a thread keeps
 *   to claim     to take bytes of the budget that all caches share; a class claims as it earns capacity
 *   to lend      to let other threads claim, while this one sleeps, what it claimed and does not use
 *   heap         what threads take new objects from (arena; the work orders' shard).  There are several.  The word
 *                never means all of hz3's memory, except in "heap profile", nor a program's own heap: see zone
 *   zone         what programs know as hz3_heap_t: objects in runs of its own, which are destroyed together
 *   owner        the heap that took an object from its run last; a hint, never needed for correctness
 *   remote free  a free by a thread of another heap than the object's owner
 *   to adopt     to cache an object of another owner
 *   to send home to give an object back to its owner, through the owner stash
 *   bin          a part of the owner stash: the objects of one owner in one class
 *   outbox       what a thread holds beside its cache: above all objects on their way home
 *   to retire    to put an object back into its run, by setting its bit in the run's bitmap
 *   held run     a run from which one heap (or the purger) takes objects; the others belong to central
 *   dirty        a free span whose pages may be resident
 *   clean        a free span whose pages read as zero and cost no memory
 *   hole         a free span that is not mapped
 *   large cache  where freed large blocks wait, as a whole, for the next request of about their size
 *   fresh page   a page that was never touched, or was purged since
 *   to purge     to give pages back to the system and keep their addresses
 *   idle pages   pages of a run in use without a live object
 *   growth bound how much may stay free while hz3 takes fresh pages (back/limits)
 *   account      what giving back may cost, as a share of the processor time (back/rent)
 *   pass         one round of reclaim through all that may go back
 *   epoch        a quarter of the decay time, at least 10 ms; there is one pass in each */
#pragma once

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
