/* Handoff: a thread that ends leaves its loaded magazines in a slot, up to the room that is free of charge: 64 KiB at
 * most.  The next thread that begins with the same heap takes them, so the one sends less away and the other fetches
 * less.  Reclaim empties slots that nobody takes.  Every HZ3_HANDOFFS-th heap shares a slot.
 *
 * Call with hz3_threads_lock held, except in a forked child. */
#pragma once

#include "front/thread.h"

enum { HZ3_HANDOFFS = 16 };

/* Gives the magazines of *cache to the slot.  False: its heap's slot is taken. */
bool hz3_handoff_leave(const struct hz3_cache *cache);
/* Moves what was left with heap `owner` to *to.  False: nothing was. */
bool hz3_handoff_take(struct hz3_cache *to, unsigned owner);

/* The cache in a slot, or NULL. */
struct hz3_cache *hz3_handoff_look(unsigned handoff);
/* Returns the cache in a slot and keeps other threads from it until hz3_handoff_vacate.  NULL: there is none, or,
 * unless `all`, it was left since the last call. */
struct hz3_cache *hz3_handoff_claim(unsigned handoff, bool all);
void hz3_handoff_vacate(unsigned handoff);

/* In a forked child: vacates the slots that a thread of the parent had claimed, or all slots unless the structures are
 * `whole`. */
void hz3_handoff_after_fork(bool whole);
