/* HZ3_SECURE: checks blocks that the program does not pass in: whether the seals of live ones hold and free ones are
 * zero.  Ends the process if not.  At exit all are checked; of a large heap only the first runs, since others would
 * make the exit slow. */
#ifndef HZ3_SECURE_SWEEP_H
#define HZ3_SECURE_SWEEP_H

/* Checks four live objects somewhere.  Call without the page pool's lock; heaps may be locked. */
void hz3_sweep_some(void);
#endif
