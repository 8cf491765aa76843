/* The return addresses of the calls that led here. */
#pragma once

#include "base/types.h"

enum { HZ3_CALLS_MAX = 30 };
/* Return addresses, the innermost first, and where on the stack each was found. */
struct hz3_calls {
    unsigned depth;
    void *frames[HZ3_CALLS_MAX];
    uintptr_t slots[HZ3_CALLS_MAX];
};

/* Whether this thread is adding or removing libraries: glibc's dlopen may end the process then.  One thread at a time. */
bool hz3_os_loader_is_busy(void);
/* Finds the unwinder, which may allocate and load a library; once, before the first hz3_os_stack. */
void hz3_os_stack_start(void);
/* Fills in `now`.  The unwinder finds the addresses, but for those that this thread's stack of before, unless NULL,
 * has, too: from two places in a row on that are as then, if all further places are, they are taken over.  Where
 * there is no unwinder (musl, static programs), they are found by frame pointers, if the code keeps such.  Allocates
 * nothing; to be called without locks. */
void hz3_os_stack(struct hz3_calls *now, const struct hz3_calls *before);
