/* The memory limit of this process's control group, and what counts towards it. */
#pragma once

#include "base/types.h"

/* One caller at a time, since the buffers are static: they are too large for the stack of a thread that calls malloc.
 * Not while hz3_sandboxed. */

/* Nothing new is known: what was known goes on counting.  Both figures are this while a file cannot be opened for want
 * of descriptors or memory. */
#define HZ3_CGROUP_UNKNOWN (SIZE_MAX - 1)

/* The least limit, in bytes, of the groups that `membership` names and of all groups above them up to `root`:
 * memory.max and memory.high of version 2, memory.limit_in_bytes of version 1.  SIZE_MAX: there is none.  Where there
 * was one, and its files are out of sight (the process changed its root), it is the one that there was. */
#define HZ3_CGROUP_MEMBERSHIP "/proc/self/cgroup"
#define HZ3_CGROUP_ROOT       "/sys/fs/cgroup"
size_t hz3_cgroup_limit(const char *membership, const char *root);

/* Whether the group that had the least limit has another one now.  False where that cannot be read. */
bool hz3_cgroup_limit_changed(void);

/* Bytes that count towards that limit and that the system cannot reclaim: those of all processes in the group that has
 * it, without the page cache (with it where memory.stat cannot be read).  UNKNOWN, too, where there is no limit, and
 * from the first time on that it cannot be read. */
size_t hz3_cgroup_charged(void);
