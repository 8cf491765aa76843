/* The memory limit of this process's control group, and what counts towards it. */
#ifndef HZ3_OS_CGROUP_H
#define HZ3_OS_CGROUP_H

#include "base/types.h"

/* One caller at a time: the buffers are static, since they are too large for the stack of a thread that calls malloc.
 * Only while not hz3_sandboxed. */

/* The least limit, in bytes, of the groups that `membership` names and of all groups above them up to `root`, since
 * each of them is a bound: memory.max and memory.high of version 2, memory.limit_in_bytes of version 1.  SIZE_MAX:
 * there is none. */
#define HZ3_CGROUP_MEMBERSHIP "/proc/self/cgroup"
#define HZ3_CGROUP_ROOT       "/sys/fs/cgroup"
size_t hz3_cgroup_limit(const char *membership, const char *root);

/* Bytes that count towards that limit and that the system could not take back: those of all processes in the group that
 * has it, without what is cached of files.  0: there is no limit, or it cannot be read. */
size_t hz3_cgroup_charged(void);
#endif
