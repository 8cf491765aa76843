/* HZ3_SECURE: checks blocks that the program does not pass in: whether the seals of live ones hold and free ones are
 * zero.  Ends the process if not.  At exit all are checked; of a large heap only the first runs, since others would
 * make the exit slow. */
#pragma once

/* Checks four live objects somewhere.  Call without the page pool's lock; heaps may be locked. */
void hz3_sweep_some(void);
/* Checks four in the run of a small object that was freed and has not gone back to it: till then the run cannot end, so
 * this takes no lock. */
void hz3_sweep_beside(const void *freed);
