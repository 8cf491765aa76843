/* Purging: free spans give their pages back and keep their addresses, oldest first, or more than may stay free at once.
 * A span whose pages are going is in no list and belongs to nobody; no lock is held meanwhile. */
#ifndef HZ3_BACK_PURGE_H
#define HZ3_BACK_PURGE_H

#include "back/page_map.h"

/* An allocated span is free, and its pages go at once; returns the bytes purged. */
size_t hz3_pages_discard(struct hz3_span *span, bool break_huge_pages);

/* The pages of an allocated span go, so that it reads as zero.  False: the system refused. */
bool hz3_pages_zero(struct hz3_span *span);

/* Purges free spans that are dirty since before now - age ms, oldest first, until at most `keep` dirty bytes
 * are left or no span is that old.  Returns the bytes purged. */
size_t hz3_pages_purge(uint32_t age, size_t keep, bool break_huge_pages);

/* After huge pages were broken: where that gave much back, keeps the system from making them whole again, and purges
 * once more what is free and clean, which it may have filled till now. */
void hz3_pages_stay_broken(void);

/* Purges at once what is more than may stay free; called after each free. */
void hz3_pages_heed_limits(void);

/* Whether the system would not take pages back (locked memory, say) a short while ago. */
bool hz3_pages_refused(void);
/* In a forked child: nobody else purges. */
void hz3_pages_after_fork(void);

/* The heap grew by so many bytes of pages that were not there: as many go of what is more than may stay then. */
void hz3_pages_make_room(size_t bytes);

extern HZ3_ATOMIC(uint32_t) hz3_pages_being_purged; /* spans that are nobody's while their pages go */
#endif
