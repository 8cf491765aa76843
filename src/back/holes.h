/* Holes: large clean spans that nobody took for a while are unmapped.  A core that a debugger writes has every page
 * that is mapped, also those that were purged, and page tables stay until memory is unmapped.  What is taken again soon
 * is only purged: unmapping stops the other threads' page faults, and taking it again is one call more.
 *
 * Each hole parts a mapping in two, and a process may have 65530 of these by default.  So a hole has 2 MiB (1 MiB where
 * mappings count) and a thousandth of the heap; to each doubling of the heap there are a thousand at most.  The page
 * pool's lock is not held.  Talks to the free spans; must not know why memory goes back. */
#ifndef HZ3_BACK_HOLES_H
#define HZ3_BACK_HOLES_H

#include "base/types.h"

/* Unmaps the spans that were freed, or became clean, `age` ms ago or earlier. */
void hz3_holes_make(uint32_t age);
/* The program asked to trim: unmaps all, also small ones, but eight thousand to each doubling of the heap. */
void hz3_holes_make_all(void);
#endif
