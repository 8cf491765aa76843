/* The return addresses of the calls that led here. */
#ifndef HZ3_OS_STACK_H
#define HZ3_OS_STACK_H

#include "base/types.h"

/* Finds the C library's backtrace(), which may allocate and load the unwinder; once, before the first hz3_os_stack. */
void hz3_os_stack_start(void);
/* Up to max of them, the innermost first; how many.  By the unwinder; where the library has none (musl, static
 * programs), by frame pointers, as far as there are such.  Allocates nothing; to be called without locks. */
unsigned hz3_os_stack(void **frames, unsigned max);
#endif
