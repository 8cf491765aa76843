/* The owner stash (work order S44): for each heap and class a bin, a stack of magazines, where other threads leave what
 * they free of the heap's objects.  The heap's threads look there first when they run out.  It is never private: any
 * thread that needs memory may take from any bin, and reclaim retires what lies too long.
 *
 * A bin has a bound, HZ3_S44_STASH_MAX_OBJS.  So have all bins of an owner: the larger of 1 MiB and 1/8 of its live
 * bytes.  A push beyond a bound is refused; the caller then takes the objects to the transfer cache.  Without
 * HZ3_S44_OWNER_STASH every push is refused, and there is nothing to pop (no_owner_stash.c). */
#ifndef HZ3_MIDDLE_OWNER_STASH_H
#define HZ3_MIDDLE_OWNER_STASH_H

#include "base/layout.h"
#include "middle/magazine.h"

void hz3_owner_stash_start(void);

/* owner: the number of a heap.  Any thread may call any of these functions at any time.
 * Pushes a closed magazine, which belongs to the stash from then on.  False: refused; nothing has changed. */
bool hz3_owner_stash_push(unsigned owner, unsigned cls, struct hz3_magazine *magazine);
/* A closed magazine that is not empty, or NULL: the owner's; that of any owner that has some. */
struct hz3_magazine *hz3_owner_stash_pop(unsigned owner, unsigned cls);
struct hz3_magazine *hz3_owner_stash_steal(unsigned cls);
/* Retires the objects of the class's bins that lay untouched since the last call, or of all. */
void hz3_owner_stash_trim(unsigned cls, bool all);

/* Counts.  The objects of a class, exact when nobody is inside: takes all magazines out, and puts them back. */
size_t hz3_owner_stash_objects(unsigned cls);
/* Bytes that wait for an owner; for all.  May be too low by 512 KiB each. */
size_t hz3_owner_stash_in_flight(unsigned owner);
size_t hz3_owner_stash_waiting(void);
extern const struct hz3_place hz3_stash_places[]; /* for readers outside: base/layout */
#endif
