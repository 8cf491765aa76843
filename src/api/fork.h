/* fork: the gate is closed across it, so that the child finds every structure whole; the child takes over what the
 * threads that are not in it had cached. */
#ifndef HZ3_API_FORK_H
#define HZ3_API_FORK_H

void hz3_fork_start(void);
#endif
