/* Settings that only files under /sys and /proc show: the limit of the control group, huge pages, overcommit.  They are
 * read when hz3's memory is about to grow past HZ3_LEARN_FROM, since most small programs never do; or earlier, when the
 * program is about to install a seccomp filter, which may forbid opening files.  If the process has no descriptor left,
 * the next growth tries again.  Leaves errno alone. */
#pragma once

#include "os/lock.h"

extern struct hz3_lock hz3_learn_lock; /* for fork */

#define HZ3_LEARN_FROM HZ3_MIB(4) /* of address space: ls and perl take 3 to 4 */
/* Whether the system makes huge pages is asked earlier, too, by one file.  From so much on there may be one: of the few
 * pages that a small process has, khugepaged would make one. */
#define HZ3_LEARN_HUGE_PAGES_FROM HZ3_MIB(2)

/* The value of HZ3_SOFT_LIMIT. 0: no soft limit; SIZE_MAX: 90 % of what the control groups allow. */
void hz3_learn_start(size_t soft_limit);
/* Reads them if they were not read yet; all, or those about huge pages if these are made unasked.  hz3_pages_lock is
 * held. */
void hz3_learn_locked(bool all);
/* Reads them if they were not read yet; takes the locks.  False: another thread holds the page pool's; in a child not
 * made by fork that thread may not exist. */
bool hz3_learn(void);
void hz3_learn_now(void); /* waits for the locks: for who sets the option */
/* If there is a group's limit, reads again whether it changed, and what the group is charged for beside hz3's memory:
 * each 250 ms, each second where hz3's memory is less than a 32nd of it.  now: ms. */
void hz3_learn_again(uint32_t now);
