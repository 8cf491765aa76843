/* Ends the process.  hz3_misuse is for mistakes of the program and always on.  hz3_assert is for ours: it is compiled
 * in every build and executed if HZ3_DEBUG is 1.  Neither allocates; both raise SIGABRT. */
#pragma once

#include "types.h"

/* Prints "hz3: <misuse>: 0x<p>" to stderr and aborts. */
HZ3_NORETURN void hz3_misuse(const char *misuse, const void *p);
/* Prints the caller's line, and aborts: os/output.c. */
HZ3_NORETURN void hz3_end_saying(const char *line, size_t length);
HZ3_NORETURN void hz3_assert_failed(const char *text);

#define hz3_assert(cond) \
    do { \
        if (HZ3_DEBUG && unlikely(!(cond))) hz3_assert_failed(#cond); \
    } while (0)
