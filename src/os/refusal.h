/* What the system would refuse, found out by mappings that are unmapped at once and touch no page.  Any thread may ask,
 * with or without locks; but not after mlockall, when the system would fill the mapping with pages. */
#pragma once

#include "base/types.h"

/* Whether the system has room now for one more mapping of `bytes`. */
bool hz3_os_has_room(size_t bytes);
/* Whether the system refuses one mapping of `bytes` to everybody, because all its memory and swap are less
 * (vm.overcommit_memory=0).  hz3's own mappings are exempt (MAP_NORESERVE): otherwise the system would refuse a fork to
 * a process that has mapped more than that and touched little.  Calls the system only for more than it ever granted. */
bool hz3_os_exceeds_memory(size_t bytes);
