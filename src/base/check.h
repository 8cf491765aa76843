/* How the process ends for a mistake.  hz3_misuse is for the program's mistakes and always on.  hz3_assert is for ours:
 * it is compiled in every build and executed where HZ3_DEBUG is 1.  Neither allocates; both end in SIGABRT. */
#ifndef HZ3_BASE_CHECK_H
#define HZ3_BASE_CHECK_H

#include "types.h"

/* Prints "hz3: <misuse>: 0x<p>" to stderr and aborts. */
HZ3_NORETURN void hz3_misuse(const char *misuse, const void *p);
/* Prints a line that the caller has made, and aborts. */
HZ3_NORETURN void hz3_end_saying(const char *line, size_t length);
HZ3_NORETURN void hz3_assert_failed(const char *text);

#define hz3_assert(cond) \
    do { \
        if (HZ3_DEBUG && unlikely(!(cond))) hz3_assert_failed(#cond); \
    } while (0)
#endif
