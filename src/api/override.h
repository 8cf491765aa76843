/* The standard names: aliases of the hz3_ functions of the same file, or nothing (HZ3_OVERRIDE=0). */
#ifndef HZ3_API_OVERRIDE_H
#define HZ3_API_OVERRIDE_H

#include "base/types.h"

extern const char hz3_operators, hz3_interpose, hz3_memcheck; /* only to have an address */

#if HZ3_OVERRIDE
#define HZ3_STANDARD_NAME(name, result, arguments, target) \
    HZ3_EXPORT result name arguments __attribute__((alias(#target)));
#else
#define HZ3_STANDARD_NAME(name, result, arguments, target) \
    static const void *const off_##name __attribute__((unused)) = (const void *)target;
#endif
#endif
