/* A thread that ends leaves in a seat what its loaded magazines hold within the room that classes have for nothing: 64
 * KiB at most.  The next one that begins with the same heap takes it over: the one sends less home, the other fetches
 * less.  What nobody took over the collector sends home.  Seats are few, so a heap shares its with every HZ3_SEATS-th
 * other.
 *
 * hz3_threads_lock is held for all of these, but in a forked child. */
#ifndef HZ3_FRONT_SEATS_H
#define HZ3_FRONT_SEATS_H

#include "front/thread_cache.h"

enum { HZ3_SEATS = 16 };

/* The magazines of *cache are the seat's from then on.  False: its heap's seat is taken. */
bool hz3_seat_leave(const struct hz3_thread *cache);
/* *self becomes what was left with heap `owner`.  False: nothing was. */
bool hz3_seat_take(struct hz3_thread *self, unsigned owner);

/* The cache in a seat, or NULL; */
struct hz3_thread *hz3_seat_look(unsigned seat);
/* the same for the caller alone, until hz3_seat_vacate.  NULL, too, if it was left since the last call, unless
 * `all`. */
struct hz3_thread *hz3_seat_claim(unsigned seat, bool all);
void hz3_seat_vacate(unsigned seat);

/* In a forked child: what a thread that is gone had claimed, or, unless every structure is `whole`, all is lost. */
void hz3_seats_after_fork(bool whole);
#endif
