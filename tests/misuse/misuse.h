/* What every misuse uses: it accuses the pointer it is about to misuse, and itself, on stdout, for expect_abort to compare,
 * and the compiler cannot see that the pointer is bad. */
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
