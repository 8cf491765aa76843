/* How the flags depend on each other.  A combination in which a flag could do nothing stops the build. */
#include "base/types.h"

#define IMPLIES(a, b) (!(a) || (b))

_Static_assert(IMPLIES(HZ3_SECURE, HZ3_FREE_CHECK),
               "HZ3_SECURE checks objects that it knows to be live; needs HZ3_FREE_CHECK=1 (lane scale)");
_Static_assert(IMPLIES(HZ3_S44_STASH_MAX_OBJS != 16384, HZ3_S44_OWNER_STASH),
               "HZ3_S44_STASH_MAX_OBJS needs HZ3_S44_OWNER_STASH=1");
_Static_assert(HZ3_ADOPT_MIN % HZ3_UNIT == 0 && HZ3_ADOPT_MIN != HZ3_UNIT &&
                   (HZ3_ADOPT_MIN <= 128 || HZ3_ADOPT_MIN == HZ3_SMALL_MAX),
               "HZ3_ADOPT_MIN is 0, a multiple of 16 from 32, since no object is smaller than 16, to 128, or 65536");
_Static_assert((HZ3_SMALL_NUM_SC & (HZ3_SMALL_NUM_SC - 1)) == 0, "HZ3_SMALL_NUM_SC is a power of two");
