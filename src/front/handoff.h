/* A thread that ends leaves in a handoff slot what its loaded magazines hold within the room that classes have for
 * nothing: 64 KiB at most.  The next one that begins with the same heap takes it over: the one sends less home, the
 * other fetches less.  Reclaim sends home what nobody took over.  Slots are few, so a heap shares its slot with every
 * HZ3_HANDOFFS-th other.
 *
 * hz3_threads_lock is held for all of these, but in a forked child. */
#ifndef HZ3_FRONT_HANDOFF_H
#define HZ3_FRONT_HANDOFF_H

#include "base/layout.h"
#include "front/thread.h"

enum { HZ3_HANDOFFS = 16 };

/* The slot owns the magazines of *cache from then on.  False: the slot of its heap is taken. */
bool hz3_handoff_leave(const struct hz3_cache *cache);
/* *to becomes what was left with heap `owner`.  False: nothing was. */
bool hz3_handoff_take(struct hz3_cache *to, unsigned owner);

/* The cache in a slot, or NULL; */
struct hz3_cache *hz3_handoff_look(unsigned handoff);
/* the same for the caller alone, until hz3_handoff_vacate.  NULL, too, if it was left since the last call, unless
 * `all`. */
struct hz3_cache *hz3_handoff_claim(unsigned handoff, bool all);
void hz3_handoff_vacate(unsigned handoff);

/* In a forked child: what a thread that is gone had claimed, or, unless every structure is `whole`, all is lost. */
void hz3_handoff_after_fork(bool whole);
extern const struct hz3_place hz3_handoff_places[]; /* for readers outside: base/layout */
#endif
