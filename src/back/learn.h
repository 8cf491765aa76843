/* Settings that only files under /sys and /proc show: the limit of the control group, huge pages, overcommitment.  They
 * are read once, when hz3's memory is about to grow past HZ3_LEARN_FROM, which it never does in most small programs; or
 * earlier, if the program is about to install a seccomp filter, which may forbid opening files.  If the process has no
 * descriptor left, the next growth tries again.  Reading takes no lock and leaves errno. */
#ifndef HZ3_BACK_LEARN_H
#define HZ3_BACK_LEARN_H

#include "base/types.h"

#define HZ3_LEARN_FROM HZ3_MIB(4) /* of address space: ls and perl take 3 to 4 */

/* From the option: 0: there is no soft limit; SIZE_MAX: it is 90 % of what the control groups allow. */
void hz3_learn_start(size_t soft_limit);
/* hz3_pages_lock is held. */
void hz3_learn_locked(void);
/* The lock is not held.  Does nothing if another thread holds it, which may be gone (in a child not made by fork). */
void hz3_learn(void);
/* Reads again, if that is due and there is a limit, what the group is charged for beside hz3's memory.  now: in ms. */
void hz3_learn_again(uint32_t now);
#endif
