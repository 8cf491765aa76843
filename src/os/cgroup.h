/* The memory limit of this process's control group. */
#ifndef HZ3_OS_CGROUP_H
#define HZ3_OS_CGROUP_H

#include "base/types.h"

/* The least memory.max or memory.high, in bytes, of the cgroup v2 that `membership` names and of all groups above
 * it up to `root`, since each of them is a bound.  SIZE_MAX: there is none.  In v1 and hybrid hierarchies v2 does not
 * have the memory controller, so none is found.  One caller at a time: its buffers are static, since they are too
 * large for the stack of a thread that calls malloc.  Only while not hz3_sandboxed. */
#define HZ3_CGROUP_MEMBERSHIP "/proc/self/cgroup"
#define HZ3_CGROUP_ROOT       "/sys/fs/cgroup"
size_t hz3_cgroup_limit(const char *membership, const char *root);
#endif
