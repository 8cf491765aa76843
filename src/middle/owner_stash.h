/* The owner stash (S44 of the work orders): for each heap and class the place where other threads leave what they free
 * of it, and where its own threads look first when they run out.  Never private: whoever needs memory may take from
 * any owner's, and reclaim sends home what lies too long.
 *
 * Two transports behind this one boundary, chosen by HZ3_S44_TRANSPORT_LIST: whole magazines (owner_stash_magazines),
 * or objects linked through their first word, as in the work orders (owner_stash_linked).  Both speak all verbs.
 *
 * What is on its way to one owner is bounded, by HZ3_S44_STASH_MAX_OBJS for a bin and, for the owner, by the larger of
 * 1 MiB and 1/8 of its live bytes.  A push that would exceed it is refused: the caller keeps the objects and takes
 * them to the transfer cache (S42). */
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

/* owner: the number of a heap; cls: a size class.  Any thread may call any of these at any time.
 * False: refused, or the box is off; nothing has changed. */
bool hz3_owner_stash_push_one(unsigned owner, unsigned cls, void *object);
/* head .. tail: n objects linked through their first words. */
bool hz3_owner_stash_push_list(unsigned owner, unsigned cls, void *head, void *tail, unsigned n);
/* A closed magazine, which is the stash's from then on. */
bool hz3_owner_stash_push_magazine(unsigned owner, unsigned cls, struct hz3_magazine *magazine);

/* Not where HZ3_STASH_POPS is 0.  Up to `want` objects, what this thread kept from the last pop first; returns how
 * many. */
unsigned hz3_owner_stash_pop_batch(unsigned owner, unsigned cls, void **out, unsigned want);
/* A closed magazine that is not empty, or NULL. */
struct hz3_magazine *hz3_owner_stash_pop_magazine(unsigned owner, unsigned cls);
/* The same from whichever owner has some. */
unsigned hz3_owner_stash_steal_batch(unsigned cls, void **out, unsigned want);
struct hz3_magazine *hz3_owner_stash_steal_magazine(unsigned cls);

/* Over all instances; approximate while others push and pop.  Objects; with magazines, a magazine counts as full. */
uint32_t hz3_owner_stash_count(unsigned owner, unsigned cls);
bool hz3_owner_stash_has_pending(unsigned owner, unsigned cls);

void hz3_owner_stash_start(unsigned instances);
/* Retires what lay untouched since the last call, or all of it. */
void hz3_owner_stash_trim(unsigned cls, bool all);
/* What this thread kept goes back into its runs, for the thread's end. */
void hz3_owner_stash_flush_spill(struct hz3_outbox *outbox);
size_t hz3_owner_stash_objects(unsigned cls); /* in all bins; exact when nobody pushes or pops */
size_t hz3_owner_stash_spilled(const struct hz3_outbox *outbox, unsigned cls);
size_t hz3_owner_stash_in_flight(unsigned owner);                     /* bytes, as the bound counts them */
size_t hz3_owner_stash_waiting(void);                                 /* the same of all owners */
void hz3_owner_stash_each_lock(void (*visit)(struct hz3_lock *lock)); /* for fork */
extern const struct hz3_place hz3_stash_places[];                     /* for readers outside: base/layout */
#endif
