/* The message about a bad pointer, before the process ends: one line that names the call, the pointer, the thread in
 * whose cache it lies (if that is known), and where the call came from. */
#pragma once

#include "base/types.h"

/* The call to which the program passed the pointer.  name: of the standard function. */
struct hz3_call {
    const char *name;
    const void *from; /* return address */
};

enum hz3_misuse_kind {
    HZ3_FREED,
    HZ3_INTERIOR,
    HZ3_FOREIGN,
    HZ3_NEVER_ALLOCATED,
    HZ3_OVERRUN,
    HZ3_UNDERRUN,
    HZ3_OTHER_SIZE, /* of free only */
    HZ3_OTHER_HEAP, /* of hz3_heap_ functions only, */
    HZ3_NO_HEAP,    /* as this is */
};

/* cls: the class in the tag of p's granule. */
HZ3_NORETURN void hz3_misuse_by(const struct hz3_call *call, enum hz3_misuse_kind kind, const void *p, unsigned cls);
