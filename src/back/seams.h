/* Seams: the addresses where mappings of pages that were moved begin and end.  Linux remembers of pages where they came
 * from, so these never again become one mapping with what lies beside them, until the range is mapped anew; and it
 * bounds how many mappings a process has.  Everything here is under the page pool's lock, but for the two questions.
 * Knows addresses alone. */
#ifndef HZ3_BACK_SEAMS_H
#define HZ3_BACK_SEAMS_H

#include "base/types.h"

/* As many as all blocks may have before the next is copied and not moved.  The mappings are up to twice as many, where
 * blocks were cut off at their inner seam: still fewer than the 65530 that Linux usually allows. */
enum { HZ3_SEAMS_MAX = 24576 };
bool hz3_seams_none(void);
bool hz3_seams_full(void);

/* The pages of [from, from + bytes) are at `to` now, in place of what was there.  (The ranges do not overlap.) */
void hz3_seams_move(uintptr_t to, uintptr_t from, size_t bytes);
/* The range was, or is about to be, mapped anew.  Whether there were any. */
bool hz3_seams_drop(uintptr_t start, size_t bytes);
#endif
