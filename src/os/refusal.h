/* What the system would refuse.  It is asked by mappings that are unmapped at once, which touch no page.  Any thread
 * may ask, with or without locks; but not after mlockall, since the system would fill the mapping with pages. */
#ifndef HZ3_OS_REFUSAL_H
#define HZ3_OS_REFUSAL_H

#include "base/types.h"

/* Whether the system has room now for one more mapping of so many bytes. */
bool hz3_os_has_room(size_t bytes);
/* Whether the system refuses so many bytes in one mapping to everybody, since all its memory and swap are less
 * (vm.overcommit_memory=0).  hz3's own mappings are exempt (MAP_NORESERVE): else a fork would be refused, too, in a
 * process that has mapped more and touched little.  Calls the system only for more bytes than it ever granted. */
bool hz3_os_exceeds_memory(size_t bytes);
#endif
