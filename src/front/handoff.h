/* Handoff: a thread that ends leaves its loaded magazines in a slot, as far as they fit the room that classes did not
 * have to earn: 64 KiB at most.  The next thread that begins with the same heap takes them over.  So the one sends less
 * away, and the other fetches less.  Reclaim empties slots that nobody took over.  There are few slots, so every
 * HZ3_HANDOFFS-th heap shares one.
 *
 * hz3_threads_lock is held for all of these, except in a forked child. */
#ifndef HZ3_FRONT_HANDOFF_H
#define HZ3_FRONT_HANDOFF_H

#include "base/layout.h"
#include "front/thread.h"

enum { HZ3_HANDOFFS = 16 };

/* From then on the magazines of *cache belong to the slot.  False: its heap's slot is taken. */
bool hz3_handoff_leave(const struct hz3_cache *cache);
/* Moves to *to what was left with heap `owner`.  False: nothing was. */
bool hz3_handoff_take(struct hz3_cache *to, unsigned owner);

/* The cache in a slot, or NULL. */
struct hz3_cache *hz3_handoff_look(unsigned handoff);
/* The same, and no other thread gets it before hz3_handoff_vacate.  Also NULL if it was left since the last call,
 * unless `all`. */
struct hz3_cache *hz3_handoff_claim(unsigned handoff, bool all);
void hz3_handoff_vacate(unsigned handoff);

/* In a forked child: vacates slots that a thread had claimed which is gone; all slots unless structures are `whole`. */
void hz3_handoff_after_fork(bool whole);
extern const struct hz3_place hz3_handoff_places[]; /* for readers outside: base/layout */
#endif
