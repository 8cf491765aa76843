/* HZ3_SECURE: looks by the way at blocks that the program does not hand in: whether the seals of live ones hold, and
 * whether free ones are still zero.  Ends the process where not.  All of a heap is looked at when the process exits; of
 * a large one the first runs only, since others would make the exit slow. */
#ifndef HZ3_SECURE_SWEEP_H
#define HZ3_SECURE_SWEEP_H

/* Looks at a few live objects somewhere, whoever has them.  Heaps may be locked, the page pool is not. */
void hz3_sweep_some(void);
#endif
