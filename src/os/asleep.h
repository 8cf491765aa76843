/* Whether another thread sleeps, and is in the middle of none of hz3's code.  Must not know what hz3 does with it. */
#pragma once

#include "base/types.h"

enum { HZ3_STACK_LOOKED_THROUGH = 64 << 10 }; /* bytes, from its end */

/* Whether the thread of this number waits in a system call, and no address of hz3's code is on its stack.  So it is not
 * in a malloc or free either that one of its signal handlers interrupted, and it begins none before it wakes.
 * stack_end: the end of its stack, near which thread-local storage is, or any other address: then this is false, as
 * where the system does not say, on another stack, while the thread has a child, which may be at work with its memory,
 * and in a static program, where hz3's code is the program's.  What it left on another stack is not seen: only for a
 * thread whose calls of hz3 came from here (hz3_os_is_on_stack). Any thread may ask of any other that runs, one at a
 * time.  Where the system refuses to say, it is not asked again.  Reads files: only while not hz3_sandboxed. */
bool hz3_os_is_asleep(int thread, const void *stack_end);

/* Whether the caller runs on the part of that stack that would be looked through. */
HZ3_INLINE bool hz3_os_is_on_stack(const void *stack_end)
{
    return (uintptr_t)stack_end - (uintptr_t)__builtin_frame_address(0) <= HZ3_STACK_LOOKED_THROUGH;
}
