/* Shared by all misuses.  accuse() prints the pointer and the process's id on stdout, which expect_abort compares,
 * and hides from the compiler that the pointer is bad. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.h"

static inline void *accuse(void *p)
{
    dprintf(STDOUT_FILENO, "%p %d\n", p, getpid());
    return forget(p);
}
