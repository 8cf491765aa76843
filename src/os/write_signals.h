/* The signals of a failed write: SIGXFSZ at a limit on a file's size, SIGPIPE without a reader.  They would end a
 * program that does not expect hz3 to write.  The recorder (trace/) uses this file, too. */
#pragma once

#include <signal.h>

struct hz3_write_signals {
    sigset_t mask, pending; /* before */
};
/* Blocks both in this thread. */
void hz3_write_signals_block(struct hz3_write_signals *before);
/* Discards those that came since, unless they were pending before, and restores the thread's mask.  Leaves errno. */
void hz3_write_signals_unblock(const struct hz3_write_signals *before);
