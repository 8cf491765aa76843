/* RSS by use: what the process's resident memory is used for, as `hz3 explain` prints it from outside
 * (look/explain.py).  The kernel knows which pages are resident, and hz3 what lies in them. */
#ifndef HZ3_WATCH_EXPLAIN_H
#define HZ3_WATCH_EXPLAIN_H

#include "base/print.h"

enum { HZ3_EXPLAIN_BYTES = 4096 };
/* Prints a line for each use, and for the five classes with the most free objects in runs in use; each begins like
 * those of watch/stats.  Looks at every page of hz3's; other threads may run.  Prints one line instead if the system's
 * list of mappings cannot be read, or if a seccomp filter binds this thread. */
void hz3_explain_text(struct hz3_text *text);
#endif
