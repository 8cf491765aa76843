/* How the flags depend on each other.  A combination in which a flag could do nothing stops the build. */
#include "base/types.h"

#define IMPLIES(a, b) (!(a) || (b))
enum {
    FULL_DRAIN = HZ3_S112_FULL_DRAIN_EXCHANGE,
    SPILL = HZ3_S48_OWNER_STASH_SPILL,
    EPF = HZ3_S44_4_EARLY_PREFETCH,
    GOES_HOME = HZ3_ADOPT_MIN != 0,
    POWER_OF_TWO_INSTANCES = (HZ3_OWNER_STASH_INSTANCES & (HZ3_OWNER_STASH_INSTANCES - 1)) == 0,
    POWER_OF_TWO_CLASSES = (HZ3_SMALL_NUM_SC & (HZ3_SMALL_NUM_SC - 1)) == 0,
};

_Static_assert(!HZ3_SECURE, "HZ3_SECURE leaves free objects zero, and the work orders link them; it is lane secure's");

/* The owner stash.  HZ3_S44_OWNER_STASH=0 may be set beside flags of the stash, HZ3_S44_OWNER_STASH_POP=0 beside flags
 * of its pop, and HZ3_S112_FULL_DRAIN_EXCHANGE=0 beside flags of the rest, which lane classic has on. */
_Static_assert(
    IMPLIES(!HZ3_S44_OWNER_STASH_PUSH || !HZ3_S44_OWNER_STASH_POP, HZ3_S44_OWNER_STASH),
    "HZ3_S44_OWNER_STASH_PUSH and HZ3_S44_OWNER_STASH_POP are the ends of what HZ3_S44_OWNER_STASH=0 takes away");
_Static_assert(IMPLIES(HZ3_S44_STASH_MAX_OBJS != 16384, HZ3_S44_OWNER_STASH &&HZ3_S44_OWNER_STASH_PUSH),
               "HZ3_S44_STASH_MAX_OBJS needs HZ3_S44_OWNER_STASH=1 and HZ3_S44_OWNER_STASH_PUSH=1");
_Static_assert(IMPLIES(HZ3_OWNER_STASH_INSTANCES > 1 || HZ3_S144_SETTABLE || HZ3_S44_OWNER_STASH_COUNT,
                       HZ3_S44_OWNER_STASH),
               "HZ3_OWNER_STASH_INSTANCES, HZ3_S144_SETTABLE and HZ3_S44_OWNER_STASH_COUNT are about the bins; needs "
               "HZ3_S44_OWNER_STASH=1");
_Static_assert(IMPLIES(HZ3_S44_DRAIN_LIMIT || HZ3_S44_PREFETCH_DIST > 1 || HZ3_S44_4_WALK_NOPREV ||
                           HZ3_S44_4_WALK_UNROLL || HZ3_S44_4_SPILL_HELPER || HZ3_S44_4_EARLY_PREFETCH_DIST > 1 ||
                           HZ3_S44_4_SKIP_QUICK_EMPTY_CHECK,
                       HZ3_S44_OWNER_STASH),
               "HZ3_S44_DRAIN_LIMIT, HZ3_S44_PREFETCH_DIST, HZ3_S44_4_WALK_NOPREV, HZ3_S44_4_WALK_UNROLL, "
               "HZ3_S44_4_SPILL_HELPER, HZ3_S44_4_EARLY_PREFETCH_DIST and HZ3_S44_4_SKIP_QUICK_EMPTY_CHECK are about "
               "pops; needs HZ3_S44_OWNER_STASH=1");
_Static_assert(IMPLIES(HZ3_S44_OWNER_STASH_FASTPOP, FULL_DRAIN || SPILL),
               "HZ3_S44_OWNER_STASH_FASTPOP: a pop that detaches no more than it needs puts nothing back; needs "
               "HZ3_S112_FULL_DRAIN_EXCHANGE=1 or HZ3_S48_OWNER_STASH_SPILL=1");
_Static_assert(IMPLIES(HZ3_S67_SPILL_ARRAY, SPILL),
               "HZ3_S67_SPILL_ARRAY is the form of the spill; needs HZ3_S48_OWNER_STASH_SPILL=1");
_Static_assert(IMPLIES(HZ3_S44_DRAIN_LIMIT, FULL_DRAIN && !SPILL),
               "HZ3_S44_DRAIN_LIMIT bounds what is handed out of a bin that was taken whole, and the rest is put back; "
               "needs HZ3_S112_FULL_DRAIN_EXCHANGE=1 and HZ3_S48_OWNER_STASH_SPILL=0");
_Static_assert(IMPLIES(HZ3_S44_PREFETCH_DIST > 1, HZ3_S44_PREFETCH), "HZ3_S44_PREFETCH_DIST needs HZ3_S44_PREFETCH=1");
_Static_assert(HZ3_S44_4_WALK_UNROLL == 0 || HZ3_S44_4_WALK_UNROLL == 4 || HZ3_S44_4_WALK_UNROLL == 8,
               "HZ3_S44_4_WALK_UNROLL is 0, 4 or 8");
_Static_assert(IMPLIES(HZ3_S44_4_SPILL_HELPER, SPILL),
               "HZ3_S44_4_SPILL_HELPER: another form of the spill; needs HZ3_S48_OWNER_STASH_SPILL=1");
_Static_assert(IMPLIES(HZ3_S44_4_EARLY_PREFETCH_DIST > 1, EPF),
               "HZ3_S44_4_EARLY_PREFETCH_DIST needs HZ3_S44_4_EARLY_PREFETCH=1");
_Static_assert(
    IMPLIES(HZ3_S44_4_SKIP_QUICK_EMPTY_CHECK, !HZ3_S44_4_QUICK_EMPTY_USE_EPF_HINT),
    "HZ3_S44_4_SKIP_QUICK_EMPTY_CHECK leaves out what HZ3_S44_4_QUICK_EMPTY_USE_EPF_HINT changes; needs that "
    "one 0");
_Static_assert(IMPLIES(HZ3_S44_4_QUICK_EMPTY_USE_EPF_HINT, EPF),
               "HZ3_S44_4_QUICK_EMPTY_USE_EPF_HINT needs HZ3_S44_4_EARLY_PREFETCH=1");
_Static_assert(IMPLIES(HZ3_S44_4_WALK_PREFETCH_UNCOND, HZ3_S44_PREFETCH),
               "HZ3_S44_4_WALK_PREFETCH_UNCOND needs HZ3_S44_PREFETCH=1");

/* The sender. */
_Static_assert(
    IMPLIES(HZ3_REMOTE_STASH_SPARSE || HZ3_REMOTE_FLUSH_BUDGET || HZ3_S121_PAGE_LOCAL_REMOTE, GOES_HOME),
    "HZ3_REMOTE_STASH_SPARSE, HZ3_REMOTE_FLUSH_BUDGET and HZ3_S121_PAGE_LOCAL_REMOTE are about objects that go "
    "home; needs HZ3_ADOPT_MIN");
_Static_assert(HZ3_ADOPT_MIN % HZ3_UNIT == 0 && HZ3_ADOPT_MIN != HZ3_UNIT &&
                   (HZ3_ADOPT_MIN <= 128 || HZ3_ADOPT_MIN == HZ3_SMALL_MAX),
               "HZ3_ADOPT_MIN is 0, a multiple of 16 from 32, since no object is smaller than 16, to 128, or 65536");
_Static_assert(IMPLIES(HZ3_S97_REMOTE_STASH_BUCKET, HZ3_REMOTE_STASH_SPARSE),
               "HZ3_S97_REMOTE_STASH_BUCKET: a dense outbox is sorted already; needs HZ3_REMOTE_STASH_SPARSE=1");
_Static_assert(IMPLIES(HZ3_S146_OVERFLOW_BATCH, HZ3_REMOTE_STASH_SPARSE),
               "HZ3_S146_OVERFLOW_BATCH: a dense outbox has no ring to overflow; needs HZ3_REMOTE_STASH_SPARSE=1");
_Static_assert(IMPLIES(HZ3_S121_PAGE_LOCAL_REMOTE, !HZ3_REMOTE_STASH_SPARSE && !HZ3_REMOTE_FLUSH_BUDGET),
               "HZ3_S121_PAGE_LOCAL_REMOTE leaves nothing with the sender; needs HZ3_REMOTE_STASH_SPARSE=0 and "
               "HZ3_REMOTE_FLUSH_BUDGET=0");

_Static_assert(POWER_OF_TWO_INSTANCES, "HZ3_OWNER_STASH_INSTANCES is a power of two");
_Static_assert(POWER_OF_TWO_CLASSES, "HZ3_SMALL_NUM_SC is a power of two");
_Static_assert(IMPLIES(HZ3_S145_CACHE_BATCH != 16, HZ3_S145_CENTRAL_LOCAL_CACHE),
               "HZ3_S145_CACHE_BATCH needs HZ3_S145_CENTRAL_LOCAL_CACHE=1");
