/* The owner stash (work order S44): for each shard and small class a bin where other threads leave what they free of
 * the shard's objects, linked through their first word.  The shard's threads look there first when they run out; no
 * other thread takes from it, but reclaim retires what lies untouched.
 *
 * A bin's only bound is HZ3_S44_STASH_MAX_OBJS objects: a push beyond it is refused, and the caller takes the objects
 * to the transfer cache (S42).  What a drain puts back is not refused, so that where the rest is not kept (S48) a bin
 * may hold more. */
#pragma once

#include "middle/magazine.h"
#include "middle/outbox.h"

enum {
    HZ3_STASH_PUSHES = HZ3_S44_OWNER_STASH && HZ3_S44_OWNER_STASH_PUSH,
    HZ3_STASH_POPS = HZ3_S44_OWNER_STASH && HZ3_S44_OWNER_STASH_POP,
};

/* owner: the number of a shard.  Any thread may call any of these functions at any time.
 * False: the push was refused, or pushes are off, or the class is larger; nothing has changed. */
bool hz3_owner_stash_push_one(unsigned owner, unsigned cls, void *object);
/* head .. tail: n objects linked through their first words. */
bool hz3_owner_stash_push_list(unsigned owner, unsigned cls, void *head, void *tail, unsigned n);
/* A closed magazine, which is empty and put away afterwards. */
bool hz3_owner_stash_push(unsigned owner, unsigned cls, struct hz3_magazine *magazine);

/* Pops up to `want` objects and returns how many; those that this thread kept from its last pop come first. */
unsigned hz3_owner_stash_pop_batch(unsigned owner, unsigned cls, void **out, unsigned want);

/* Objects in all instances; approximate while others push and pop. */
uint32_t hz3_owner_stash_count(unsigned owner, unsigned cls);
bool hz3_owner_stash_has_pending(unsigned owner, unsigned cls);

/* For fork: central's locks and the counters, too.  What waits is counted from time to time as it is. */
void hz3_owner_stash_each_lock(void (*visit)(struct hz3_lock *lock));
void hz3_owner_stash_after_fork(void);
void hz3_owner_stash_start(void); /* with HZ3_S144_SETTABLE as many instances as the option says */
/* Retires the objects of bins that lay untouched since the last call, or of all; so does central with its magazines. */
void hz3_owner_stash_trim(unsigned cls, bool all);
/* Retires what a thread kept from its pops, but of classes for which `used` says so; NULL: of none. */
void hz3_owner_stash_flush_spill(struct hz3_outbox *outbox, const bool *used);
/* In all bins, and in central's magazines; exact when nobody pushes or pops. */
size_t hz3_owner_stash_objects(unsigned cls);
size_t hz3_owner_stash_spilled(const struct hz3_outbox *outbox, unsigned cls);
/* Bytes in all bins, which are counted every 10 ms, whenever 4 MiB were pushed and after a trim, in announced runs and
 * at central. */
size_t hz3_owner_stash_waiting(void);
