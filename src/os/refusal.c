#include "os/refusal.h"

#include "os/os.h"

#include <sys/mman.h>

/* Bytes that the system is known to grant at once; at the start, a size that any system grants. */
static HZ3_ATOMIC(size_t) granted = HZ3_MIB(256);

static bool can_map(size_t bytes, int flags)
{
    flags |= MAP_PRIVATE | MAP_ANONYMOUS;
    void *got = HZ3_KEEPING_ERRNO(mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0));
    if (got != MAP_FAILED) hz3_os_unmap((uintptr_t)got, bytes);
    return got != MAP_FAILED;
}

bool hz3_os_has_room(size_t bytes)
{
    return can_map(bytes, MAP_NORESERVE);
}

/* A limit of the process refuses both kinds of mapping alike.  Where only the first was refused, another thread may
 * have asked or mapped meanwhile: then the next try tells. */
bool hz3_os_exceeds_memory(size_t bytes)
{
    if (likely(bytes <= hz3_get(granted))) return false;
    for (int tries = 0; tries < 3; tries++) {
        if (can_map(bytes, 0)) {
            hz3_set(granted, bytes);
            return false;
        }
        if (!hz3_os_has_room(bytes)) return false;
    }
    return true;
}
