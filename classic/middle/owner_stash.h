/* The owner stash (work order S44): for each heap and class a bin where other threads leave what they free of
 * the heap's objects.  The heap's threads look there first when they run out.  It is never private: any thread that
 * needs memory may take from any bin, and reclaim retires what lies too long.
 *
 * HZ3_S44_TRANSPORT_LIST chooses one of two transports: whole magazines (owner_stash_magazines), or objects linked
 * through their first word, as in the work orders (variants/linked).  Both have all functions of this header.
 *
 * A bin has a bound, HZ3_S44_STASH_MAX_OBJS.  So have all bins of an owner: the larger of 1 MiB and 1/8 of its live
 * bytes.  A push beyond a bound is refused; the caller then takes the objects to the transfer cache. */
#ifndef HZ3_MIDDLE_OWNER_STASH_H
#define HZ3_MIDDLE_OWNER_STASH_H

#include "base/layout.h"
#include "variants/instances.h"
#include "middle/magazine.h"
#include "middle/outbox.h"

enum {
    HZ3_STASH_PUSHES = HZ3_S44_OWNER_STASH && HZ3_S44_OWNER_STASH_PUSH,
    HZ3_STASH_POPS = HZ3_S44_OWNER_STASH && HZ3_S44_OWNER_STASH_POP,
};

/* owner: the number of a heap.  Any thread may call any of these functions at any time.
 * False: the push was refused, or pushes are off; nothing has changed. */
bool hz3_owner_stash_push_one(unsigned owner, unsigned cls, void *object);
/* head .. tail: n objects linked through their first words. */
bool hz3_owner_stash_push_list(unsigned owner, unsigned cls, void *head, void *tail, unsigned n);
/* A closed magazine; from then on it belongs to the stash. */
bool hz3_owner_stash_push(unsigned owner, unsigned cls, struct hz3_magazine *magazine);

/* Not to be called where HZ3_STASH_POPS is 0.  Pops up to `want` objects and returns how many; those that this thread
 * kept from its last pop come first. */
unsigned hz3_owner_stash_pop_batch(unsigned owner, unsigned cls, void **out, unsigned want);
/* A closed magazine that is not empty, or NULL. */
struct hz3_magazine *hz3_owner_stash_pop(unsigned owner, unsigned cls);
/* The same from any owner that has some. */
unsigned hz3_owner_stash_steal_batch(unsigned cls, void **out, unsigned want);
struct hz3_magazine *hz3_owner_stash_steal(unsigned cls);

/* Objects in all instances, a magazine counted as full; approximate while others push and pop. */
uint32_t hz3_owner_stash_count(unsigned owner, unsigned cls);
bool hz3_owner_stash_has_pending(unsigned owner, unsigned cls);

void hz3_owner_stash_start(void); /* with HZ3_S144_SETTABLE as many instances as the option says */
/* Retires the objects of bins that lay untouched since the last call, or of all. */
void hz3_owner_stash_trim(unsigned cls, bool all);
/* At a thread's end: retires what it kept from its pops. */
void hz3_owner_stash_flush_spill(struct hz3_outbox *outbox);
size_t hz3_owner_stash_objects(unsigned cls); /* in all bins; exact when nobody pushes or pops */
size_t hz3_owner_stash_spilled(const struct hz3_outbox *outbox, unsigned cls);
size_t hz3_owner_stash_in_flight(unsigned owner); /* bytes, as the bound counts them */
size_t hz3_owner_stash_waiting(void);             /* the same, for all owners */
extern const struct hz3_place hz3_stash_places[]; /* for readers outside: base/layout */
#endif
