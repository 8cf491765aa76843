/* The memory that the control group of this process may have. */
#ifndef HZ3_OS_CGROUP_H
#define HZ3_OS_CGROUP_H

#include "base/types.h"

/* The least memory.max or memory.high, in bytes, of the cgroup v2 that `membership` names and of all groups above
 * it up to `root`, for each of them bounds it; SIZE_MAX without one.  In v1 and hybrid hierarchies, where v2 does
 * not have the memory controller, there is none to find.  Reads files: at start only. */
#define HZ3_CGROUP_MEMBERSHIP "/proc/self/cgroup"
#define HZ3_CGROUP_ROOT       "/sys/fs/cgroup"
size_t hz3_cgroup_limit(const char *membership, const char *root);
#endif
