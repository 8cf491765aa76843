/* What is said of a bad pointer before the process ends: one line, which names the call, the pointer, the thread in
 * whose cache it lies, where that is known, and where the call came from. */
#ifndef HZ3_API_MISUSE_H
#define HZ3_API_MISUSE_H

#include "base/types.h"

/* Who handed the pointer in.  name: of the standard function. */
struct hz3_call {
    const char *name;
    const void *from; /* return address */
};

enum hz3_misuse_kind { HZ3_FREED, HZ3_INTERIOR, HZ3_FOREIGN, HZ3_NEVER_ALLOCATED };

/* cls: that p's granule has now, or HZ3_CLASS_NONE. */
HZ3_NORETURN void hz3_misuse_by(const struct hz3_call *call, enum hz3_misuse_kind kind, const void *p, unsigned cls);
#endif
