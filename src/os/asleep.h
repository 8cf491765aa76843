/* Whether another thread sleeps, and is in the middle of none of hz3's code.  Must not know what hz3 does with it. */
#pragma once

#include "base/types.h"

/* Whether the thread of this number waits in a system call, and no address of hz3's code is on its stack.  So it is not
 * in a malloc or free either that one of its signal handlers interrupted, and it begins none before it wakes.
 * stack_end: the end of its stack, near which thread-local storage is, or any other address: then this is false, as
 * where the system does not say, on another stack, and in a static program, where hz3's code is the program's.
 * Any thread may ask of any other that runs; reads files: only while not hz3_sandboxed. */
bool hz3_os_is_asleep(int thread, const void *stack_end);
