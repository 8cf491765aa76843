/* How the flags depend on each other.  A combination in which a flag could do nothing stops the build. */
#include "base/types.h"

#define IMPLIES(a, b) (!(a) || (b))
#define NEEDS_LIST    "; needs HZ3_S44_TRANSPORT_LIST=1 (lane classic)"
enum {
    LIST = HZ3_S44_TRANSPORT_LIST,
    FULL_DRAIN = HZ3_S112_FULL_DRAIN_EXCHANGE,
    SPILL = HZ3_S48_OWNER_STASH_SPILL,
    EPF = HZ3_S44_4_EARLY_PREFETCH,
    POWER_OF_TWO_INSTANCES = (HZ3_OWNER_STASH_INSTANCES & (HZ3_OWNER_STASH_INSTANCES - 1)) == 0,
    POWER_OF_TWO_CLASSES = (HZ3_SMALL_NUM_SC & (HZ3_SMALL_NUM_SC - 1)) == 0,
};

_Static_assert(
    IMPLIES(HZ3_SECURE, HZ3_FREE_CHECK && !LIST),
    "HZ3_SECURE checks objects that it knows to be live, leaves free ones zero, and looks at each on its way; "
    "needs HZ3_FREE_CHECK=1 and HZ3_S44_TRANSPORT_LIST=0 (lane scale)");

/* The owner stash, and its list transport.  HZ3_S44_OWNER_STASH=0 may be set beside flags of the stash, and
 * HZ3_S44_OWNER_STASH_POP=0 beside flags of its pop, since lane classic has these on. */
_Static_assert(
    IMPLIES(!HZ3_S44_OWNER_STASH_PUSH || !HZ3_S44_OWNER_STASH_POP, HZ3_S44_OWNER_STASH),
    "HZ3_S44_OWNER_STASH_PUSH and HZ3_S44_OWNER_STASH_POP are the ends of what HZ3_S44_OWNER_STASH=0 takes away");
_Static_assert(IMPLIES(HZ3_S44_STASH_MAX_OBJS != 16384, HZ3_S44_OWNER_STASH &&HZ3_S44_OWNER_STASH_PUSH),
               "HZ3_S44_STASH_MAX_OBJS needs HZ3_S44_OWNER_STASH=1 and HZ3_S44_OWNER_STASH_PUSH=1");
_Static_assert(IMPLIES(HZ3_OWNER_STASH_INSTANCES > 1, HZ3_S44_OWNER_STASH),
               "HZ3_OWNER_STASH_INSTANCES needs HZ3_S44_OWNER_STASH=1");
_Static_assert(IMPLIES(FULL_DRAIN && !LIST, HZ3_S44_OWNER_STASH),
               "HZ3_S112_FULL_DRAIN_EXCHANGE is about the owner stash; needs HZ3_S44_OWNER_STASH=1");
_Static_assert(IMPLIES(HZ3_S44_OWNER_STASH_COUNT, LIST),
               "HZ3_S44_OWNER_STASH_COUNT: a stack of magazines counts itself" NEEDS_LIST);
_Static_assert(IMPLIES(HZ3_S44_OWNER_STASH_FASTPOP, LIST && (FULL_DRAIN || SPILL || HZ3_S44_DRAIN_LIMIT)),
               "HZ3_S44_OWNER_STASH_FASTPOP: magazines have no tail to search" NEEDS_LIST ", and a pop that detaches "
               "no more than it needs puts nothing back; needs HZ3_S112_FULL_DRAIN_EXCHANGE, "
               "HZ3_S48_OWNER_STASH_SPILL or HZ3_S44_DRAIN_LIMIT");
_Static_assert(IMPLIES(HZ3_S67_SPILL_ARRAY, LIST &&SPILL),
               "HZ3_S67_SPILL_ARRAY is the form of a spill of objects" NEEDS_LIST " and HZ3_S48_OWNER_STASH_SPILL=1");
_Static_assert(IMPLIES(HZ3_S44_DRAIN_LIMIT, LIST && !FULL_DRAIN),
               "HZ3_S44_DRAIN_LIMIT bounds what a list's pop detaches" NEEDS_LIST " and "
               "HZ3_S112_FULL_DRAIN_EXCHANGE=0");
_Static_assert(IMPLIES(HZ3_S44_PREFETCH, LIST), "HZ3_S44_PREFETCH: only a list is walked" NEEDS_LIST);
_Static_assert(IMPLIES(HZ3_S44_PREFETCH_DIST > 1, HZ3_S44_PREFETCH),
               "HZ3_S44_PREFETCH_DIST needs HZ3_S44_PREFETCH=1 (lane classic)");
_Static_assert(IMPLIES(HZ3_S44_4_WALK_NOPREV, LIST), "HZ3_S44_4_WALK_NOPREV: only a list is walked" NEEDS_LIST);
_Static_assert(IMPLIES(HZ3_S44_4_SPILL_HELPER, LIST &&SPILL),
               "HZ3_S44_4_SPILL_HELPER: another form of the spill" NEEDS_LIST " and HZ3_S48_OWNER_STASH_SPILL=1");
_Static_assert(IMPLIES(EPF, LIST), "HZ3_S44_4_EARLY_PREFETCH fetches an object that is linked" NEEDS_LIST);
_Static_assert(IMPLIES(HZ3_S44_4_EARLY_PREFETCH_DIST > 1, EPF),
               "HZ3_S44_4_EARLY_PREFETCH_DIST needs HZ3_S44_4_EARLY_PREFETCH=1 (lane classic)");
_Static_assert(IMPLIES(HZ3_S44_4_SKIP_QUICK_EMPTY_CHECK, LIST && !HZ3_S44_4_QUICK_EMPTY_USE_EPF_HINT),
               "HZ3_S44_4_SKIP_QUICK_EMPTY_CHECK leaves out what HZ3_S44_4_QUICK_EMPTY_USE_EPF_HINT changes" NEEDS_LIST
               " and that one 0");
_Static_assert(IMPLIES(HZ3_S44_4_QUICK_EMPTY_USE_EPF_HINT, EPF),
               "HZ3_S44_4_QUICK_EMPTY_USE_EPF_HINT needs HZ3_S44_4_EARLY_PREFETCH=1 (lane classic)");
_Static_assert(IMPLIES(HZ3_S44_4_WALK_PREFETCH_UNCOND, HZ3_S44_PREFETCH),
               "HZ3_S44_4_WALK_PREFETCH_UNCOND needs HZ3_S44_PREFETCH=1 (lane classic)");

/* Magazines. */
_Static_assert(IMPLIES(SPILL && !LIST, FULL_DRAIN),
               "HZ3_S48_OWNER_STASH_SPILL: a pop of one magazine leaves no rest; needs HZ3_S112_FULL_DRAIN_EXCHANGE=1 "
               "(lane classic)");

/* The sender. */
_Static_assert(HZ3_ADOPT_MIN % HZ3_UNIT == 0 && HZ3_ADOPT_MIN != HZ3_UNIT &&
                   (HZ3_ADOPT_MIN <= 128 || HZ3_ADOPT_MIN == HZ3_SMALL_MAX),
               "HZ3_ADOPT_MIN is 0, a multiple of 16 from 32, since no object is smaller than 16, to 128, or 65536");

_Static_assert(POWER_OF_TWO_INSTANCES, "HZ3_OWNER_STASH_INSTANCES is a power of two");
_Static_assert(POWER_OF_TWO_CLASSES, "HZ3_SMALL_NUM_SC is a power of two");
