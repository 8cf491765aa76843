/* The assert ladder.  hz3_misuse: the program's mistake, always on.  hz3_assert: ours; type-checked in
 * every build, executed where HZ3_DEBUG is 1.  Neither allocates, and both end in SIGABRT. */
#ifndef HZ3_BASE_CHECK_H
#define HZ3_BASE_CHECK_H

#include "types.h"

/* Prints "hz3: <misuse>: 0x<p>" to stderr and aborts. */
HZ3_NORETURN void hz3_misuse(const char *misuse, const void *p);
/* Prints the line, which is a message of this kind, and aborts. */
HZ3_NORETURN void hz3_end_saying(const char *line, size_t length);
HZ3_NORETURN void hz3_assert_failed(const char *text);

#define hz3_assert(cond) \
    do { \
        if (HZ3_DEBUG && unlikely(!(cond))) hz3_assert_failed(#cond); \
    } while (0)
#endif
