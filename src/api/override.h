/* The standard names: aliases of functions of the same file, or nothing (HZ3_OVERRIDE=0).  C++ operators are weak,
 * since a program may have its own. */
#pragma once

#include "base/types.h"

extern const char hz3_operators, hz3_interpose, hz3_memcheck; /* only to have an address */

#if HZ3_OVERRIDE
#define HZ3_STANDARD_NAME(name, result, arguments, target) \
    HZ3_EXPORT result name arguments __attribute__((alias(#target)));
#define HZ3_OPERATOR(name, result, arguments, target) \
    HZ3_EXPORT result name arguments __attribute__((weak, alias(#target)));
#else
#define HZ3_STANDARD_NAME(name, result, arguments, target) \
    static const void *const off_##name __attribute__((unused)) = (const void *)target;
#define HZ3_OPERATOR(name, result, arguments, target) \
    static result name arguments __attribute__((unused, alias(#target)));
#endif

/* For the file that has malloc and free.  A linker takes from an archive only what is asked for.  So malloc refers to
 * the whole family: a program never gets malloc from hz3 and realloc from another allocator. */
#define HZ3_ENTRY_NAMES \
    __attribute__((used)) static const void *const family[] = { \
        (const void *)hz3_calloc, (const void *)hz3_malloc_trim, &hz3_operators, &hz3_interpose, &hz3_memcheck}; \
    HZ3_STANDARD_NAME(malloc, void *, (size_t), hz3_malloc) \
    HZ3_STANDARD_NAME(free, void, (void *), hz3_free) \
    HZ3_STANDARD_NAME(malloc_usable_size, size_t, (void *), hz3_malloc_usable_size)
