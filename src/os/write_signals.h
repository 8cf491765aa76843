/* The signals of a write that fails: SIGXFSZ at a limit on a file's size, SIGPIPE where nobody reads any more.  They
 * end a program, which need not expect that hz3 writes.  The recorder (trace/) has this file, too. */
#ifndef HZ3_OS_WRITE_SIGNALS_H
#define HZ3_OS_WRITE_SIGNALS_H

#include <signal.h>

struct hz3_write_signals {
    sigset_t mask, pending; /* before */
};
/* Blocks both in this thread. */
void hz3_write_signals_block(struct hz3_write_signals *before);
/* Takes back what came meanwhile, and restores the thread's mask.  A signal that waited before waits on.  errno stays.
 */
void hz3_write_signals_unblock(const struct hz3_write_signals *before);
#endif
